//! Launch files with several launches.

use tripipe_launch::Access;
use tripipe_launch_file::{
    Contents, Given, LaunchSequence, Memory, MemoryShape, Overrides, Use, parse_sequence,
};

use super::parse;

const BUFFERS: &str = "source = 'k.cl'
options = '-D N=64'
[[launch]]
kernel = 'first'
global = 'N'
[[launch.argument]]
name = 'in'
buffer = 'float'
count = 'N'
random = {}
access = 'read'
[[launch.argument]]
name = 'out'
buffer = 'float'
count = 'N'
access = 'write'
";

fn sequence(more: &str) -> Result<Option<LaunchSequence>, String> {
    let text = format!("{BUFFERS}{more}");
    parse_sequence(&text, "k.toml", &Overrides::default()).map_err(|error| error.to_string())
}

/// A launch with one argument, on lines 17 to 21.
fn using(what: &str) -> String {
    format!("[[launch]]\nkernel = 'second'\nglobal = 8\n[[launch.argument]]\nuse = {what}\n")
}

#[test]
fn launches_use_memory_of_earlier_ones() {
    let last = "[[launch]]\nkernel = 'third'\nglobal = 8\nrepeat = 3\n\
                [[launch.argument]]\nuse = 'second.0'\n[[launch.argument]]\nuse = 'first.in'\n";
    let all = sequence(&format!("{}{last}", using("'first.out'"))).unwrap().unwrap();
    let names: Vec<&str> = all.launches.iter().map(|launch| launch.name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third"]);
    assert_eq!(all.order(), [0, 1, 2, 2, 2]);
    assert_eq!(all.launches[1].uses, [Use { argument: 0, launch: 0, of: 1 }]);
    // What another launch uses itself is that of the first one.
    let uses = [Use { argument: 0, launch: 0, of: 1 }, Use { argument: 1, launch: 0, of: 0 }];
    assert_eq!(all.launches[2].uses, uses);
    let memory = |launch: usize, argument: usize| match &all.launches[launch].file.arguments[argument].given {
        Given::Memory(memory) => memory.clone(),
        other => panic!("{other:?}"),
    };
    let Memory { shape, contents, access, .. } = memory(2, 1);
    let MemoryShape::Buffer { extents: Some(extents), .. } = shape else { panic!("{shape:?}") };
    assert_eq!((&extents[..], contents, access), (&[64][..], Contents::Unwritten, Access::Read));
    // Another launch reads what this one writes.
    assert_eq!(memory(0, 1).access, Access::ReadWrite);
    assert_eq!(all.launches[0].file.range.global_size(), [64, 1, 1]);
    assert_eq!(parse_sequence("source = 'k.cl'\nglobal = 8\n", "k.toml", &Overrides::default()), Ok(None));
}

#[test]
fn what_is_wrong_is_located() {
    let refuses = |more: &str, message: &str| {
        let error = sequence(more).unwrap_err();
        assert!(error.starts_with(&format!("k.toml:{message}")), "{error}");
    };
    refuses(&using("'frist.out'"), "21:7: `use` names `frist.out`, which is not of a launch before this one");
    refuses(&using("'second.out'"), "21:7: `use` names `second.out`, which is not of a launch before");
    refuses(&using("'first.ou'"), "21:7: `use` names `first.ou`, which is not an argument of that launch");
    refuses(&using("'first.2'"), "21:7: `use` names `first.2`, which is not an argument of that launch");
    refuses(&using("'out'"), "21:7: `use` names `out`, which is not of the form `LAUNCH.ARGUMENT`");
    refuses(&using("5"), "21:7: `use` must be a string");
    refuses("[[launch]]\nkernel = 'second'\n", "17:1: launch 1 needs `global`");
    refuses("[[launch]]\nglobal = 8\nrepeat = 0\n", "19:10: `repeat` is 0, but must be from 1 to");
    refuses(
        "[[launch]]\nglobal = 8\nrepeat = 1000000\n",
        "19:10: `repeat` is 1000000, but must be from 1 to 999999",
    );
    refuses("[[launch]]\nglobal = 8\nsource = 'k.cl'\n", "19:1: unknown key `source` in launch 1");
    // A file of one launch has nothing to use, and a file of several is not one launch.
    let error = parse("source = 'k.cl'\nglobal = 8\n[[argument]]\nuse = 'first.out'\n").unwrap_err();
    assert!(error.to_string().contains("no launch comes before this one"), "{error}");
    let error = parse(BUFFERS).unwrap_err().to_string();
    assert!(error.starts_with("k.toml:3:") && error.contains("a list of 1 launches"), "{error}");
    assert!(error.contains("`tripipe check`, `improve`, `simulate` and `run-kernel`"), "{error}");
}

#[test]
fn launches_wait_for_those_of_other_queues_that_share_memory() {
    let launch = |kernel: &str, more: &str, used: &str| {
        format!("[[launch]]\nkernel = '{kernel}'\n{more}\nglobal = 8\n[[launch.argument]]\nuse = '{used}'\n")
    };
    let more = [
        launch("second", "queue = 'side'", "first.in"),
        launch("third", "queue = 'side'", "first.out"),
        launch("fourth", "", "second.0"),
    ];
    let all = sequence(&more.concat()).unwrap().unwrap();
    let queues = all.queues(|_, _| true);
    assert_eq!((queues.names, queues.of), (vec!["", "side"], vec![0, 1, 1, 0]));
    assert_eq!(queues.after, [vec![], vec![0], vec![0], vec![1]]);
    assert_eq!(queues.after_uploads, [vec![], vec![0], vec![0], vec![]]);
    // The first launch writes its second argument, and nothing else is written.
    let queues = all.queues(|launch, argument| (launch, argument) == (0, 1));
    assert_eq!(queues.after, [vec![], vec![], vec![0], vec![]]);
    let error = sequence("[[launch]]\nkernel = 'second'\nglobal = 8\nqueue = 2\n").unwrap_err();
    assert!(error.contains("queue"), "{error}");
}
