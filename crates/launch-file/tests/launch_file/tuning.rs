//! The table `[tune]`: its combinations, and what is wrong with it.

use tripipe_launch::NdRange;
use tripipe_launch_file::{Number, Overrides, Tuning, parse_combination, parse_with};

use super::parse;

const HEAD: &str =
    "source = 'a.cl'\noptions = '-D WG=32 -D PAIR=(WG*2)'\nglobal = 'round_up(n, WG)'\nlocal = 'WG'
[[argument]]\nname = 'n'\nvalue = 1000\n[[argument]]\nname = 'out'\nbuffer = 'int'\ncount = 'n'\n[tune]\n";

fn tuning(table: &str) -> Tuning {
    let text = format!("{HEAD}{table}");
    let file = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    file.tuning.unwrap()
}

fn points(table: &str) -> Vec<String> {
    tuning(table).points().unwrap().texts
}

#[test]
fn combinations_are_those_that_the_conditions_permit() {
    let table = "parameters = { WG = [16, 32, 64], T = ['int', 'int4'], F = [0.5] }
where = ['PAIR <= 64', 'T != \"int4\" || WG == 32 && n % 8 == 0']";
    let found = tuning(table).points().unwrap();
    // The file's own value of WG and the first of T come first.
    assert_eq!(found.texts, ["WG=32 T=int F=0.5", "WG=16 T=int F=0.5", "WG=32 T=int4 F=0.5"]);
    assert!(found.starts_with_own);
    // Every value of WG; both of T where it goes on; one of F.
    assert_eq!((found.combinations, found.checks), (6, 3 + 4 + 3));
    let lazily = points("parameters = { WG = [1, 0, 32] }\nwhere = 'WG != 0 && 64 % WG == 0'");
    assert_eq!(lazily, ["WG=32", "WG=1"]);
}

#[test]
fn a_combination_is_a_launch() {
    let table = "parameters = { WG = [16, 32], T = ['int', 'int4'] }
local = [8, 'WG / 2', 'driver']\noptions = ['', '-cl-mad-enable -D T=short -D X']";
    let found = points(table);
    assert_eq!(found.len(), 24);
    // No size in `local` is the file's own, 32.
    assert_eq!(found[0], "WG=16 T=int local=8 options=none");
    let text = format!("{HEAD}{table}");
    let at =
        |combination: &str| parse_combination(&text, "k.toml", &Overrides::default(), combination).unwrap();
    let file = at("WG=16 T=int4 local=WG/2 options=-cl-mad-enable,-D,T=short,-D,X");
    assert_eq!(file.range, NdRange::d1(1008).local(8, 1, 1));
    assert_eq!(file.options.flags, ["-cl-mad-enable"]);
    let defined = |name: &str| {
        let all: Vec<_> = file.options.defines.iter().filter(|(known, _)| known == name).collect();
        assert_eq!(all.len(), 1, "{name}: {:?}", file.options.defines);
        all[0].1.clone()
    };
    assert_eq!(
        (defined("WG"), defined("T"), defined("X")),
        ("16".to_owned(), "short".to_owned(), "1".to_owned())
    );
    assert_eq!(at("WG=32 T=int local=driver options=none").range, NdRange::d1(1024));
    // All other commands have the file's own values, and the first value where it has none.
    let own = parse(&text).unwrap();
    assert_eq!(own.range, NdRange::d1(1024).local(32, 1, 1));
    assert_eq!(own.options.defines.last(), Some(&("T".to_owned(), "int".to_owned())));
    for text_of in ["", "WG=16", "WG=17 T=int local=8 options=none", "T=int WG=16 local=8 options=none"] {
        let error =
            parse_combination(&text, "k.toml", &Overrides::default(), text_of).unwrap_err().to_string();
        assert!(error.contains("is no combination of the values"), "{text_of}: {error}");
    }
}

#[test]
fn the_own_work_group_size_and_options_come_first() {
    let found = points("local = ['driver', 32, 64]\noptions = ['-cl-mad-enable', '']");
    assert_eq!(found[0], "local=32 options=none");
}

#[test]
fn the_command_line_fixes_a_parameter() {
    let text = format!("{HEAD}parameters = {{ WG = [16, 32], X = [1, 2] }}\nwhere = 'WG * X <= n'");
    let overrides = Overrides {
        defines: vec![("WG".to_owned(), "500".to_owned())],
        numbers: vec![("n".to_owned(), Number::Integer(500))],
    };
    let file = parse_with(&text, "k.toml", &overrides).unwrap();
    assert_eq!(file.tuning.unwrap().points().unwrap().texts, ["WG=500 X=1"]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let refuses = |table: &str, message: &str| {
        let error = match parse(&format!("{HEAD}{table}")) {
            Ok(file) => file.tuning.unwrap().points().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(error, format!("k.toml:{message}"), "{table}");
    };
    refuses("", "12:1: `tune` needs one of parameters, local, options");
    refuses(
        "parameter = {}",
        "13:1: unknown key `parameter` in `tune`, did you mean `parameters`?; there are parameters, where, local, \
         options, compare, tolerance",
    );
    refuses("parameters = { WG = [] }", "13:21: `WG` is [], but must be at least one value");
    refuses(
        "parameters = { WG = 5 }",
        "13:21: `WG` must be a list of the values to choose from, not integer",
    );
    refuses("parameters = { WG = [5, 5] }", "13:25: `WG` is 5, but must be each value once");
    refuses(
        "parameters = { WG = ['a b'] }",
        "13:22: `WG` is 'a b', but must be without spaces, which -D cannot pass",
    );
    for name in ["'W G'", "2A", "local", "'Ö'"] {
        let table = format!("parameters = {{ {name} = [1] }}");
        let error = parse(&format!("{HEAD}{table}")).unwrap_err().to_string();
        assert!(error.contains("cannot be the name of a parameter"), "{error}");
    }
    let wg = "parameters = { WG = [16, 32] }\n";
    let condition = |text: &str, message: &str| {
        refuses(&format!("{wg}where = ['WG > 0', '{text}']"), &format!("14:20: \"{text}\": {message}"));
    };
    condition(
        "PAIRS <= 64",
        "`PAIRS` is neither a parameter, nor a macro of the options (-D), nor a named argument that is a whole number, did \
         you mean `PAIR`?",
    );
    condition("WG <=", "it ends too early");
    condition("WG = 4", "`= 4` is not expected there");
    condition("n > 4", "it depends on no parameter");
    condition("64 % (WG - 32) == 0", "with WG=32: a division by 0");
    refuses(
        &format!("{wg}compare = 'ouch'"),
        "14:11: `compare` is ouch, but must be the name of a buffer or image, or sum(NAME)",
    );
    refuses(
        &format!("{wg}local = [[8, 8]]"),
        "14:10: `local` is [8, 8], but must be as many numbers as `global` has, 1",
    );
    refuses(
        &format!("{wg}options = ['N=4']"),
        "14:12: `N=4` in the options: options start with `-`, and values have no spaces",
    );
    refuses(&format!("{wg}tolerance = 1"), "14:13: `tolerance` must be a table, not integer");
    let many: Vec<String> = (0..102).map(|value| value.to_string()).collect();
    let many = many.join(", ");
    refuses(
        &format!("parameters = {{ A = [{many}], B = [{many}], C = [{many}] }}"),
        "12:1: the values have 1061208 combinations, more than 1048576; give fewer values",
    );
    let none = parse_combination("source = 'a.cl'\nglobal = 1", "k.toml", &Overrides::default(), "WG=1")
        .unwrap_err();
    assert!(none.to_string().contains("the table `[tune]` is missing"), "{none}");
}
