//! The syntax tree against the text that it describes.

use tripipe_improve::syntax::{Affine, Expr, ExprKind, StmtKind, Tree, affine};
use tripipe_ir::front::clang::Build;

fn tree(source: &str) -> Tree {
    Tree::parse("kernel.cl", source, None, &Build::default()).unwrap()
}

const SOURCE: &str = "
#define W 3
#define SQUARE(x) ((x) * (x))
#define SUM a + 1
static int twice(int v) { return 2 * v; }
kernel void k(global const uchar *restrict in, global uchar *out, int w) {
    const int x = get_global_id(0), a = 2; // the column
    int sum = 0;
    for (int i = -1; i <= 1; ++i)
        sum += in[x * W + i] * SQUARE(i /* squared */);
    float4 v = (float4)(1.0f, 2, SUM * 2, M_PI_F);
    uint bits = as_uint(v.x), g = v.xy.x > 0;
    out[x] = clamp(twice(sum), 0, 255) ;
}
";

/// The texts of all expressions whose bytes are exact, by kind.
fn texts(tree: &Tree, mut wanted: impl FnMut(&Expr) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    tree.kernel("k").unwrap().body.walk_expressions(&mut |expr| {
        if wanted(expr) {
            assert!(expr.place.exact, "{}", tree.text(&expr.place));
            found.push(tree.text(&expr.place).to_owned());
        }
    });
    found
}

#[test]
fn places_are_those_of_the_text() {
    let tree = tree(SOURCE);
    assert_eq!(
        texts(&tree, |expr| matches!(&expr.kind, ExprKind::Call { .. })),
        ["get_global_id(0)", "clamp(twice(sum), 0, 255)", "twice(sum)"]
    );
    assert_eq!(
        texts(&tree, |expr| matches!(&expr.kind, ExprKind::Assign { .. })),
        ["sum += in[x * W + i] * SQUARE(i /* squared */)", "out[x] = clamp(twice(sum), 0, 255)"]
    );
    let swizzles =
        texts(&tree, |expr| matches!(&expr.kind, ExprKind::Swizzle { .. } if !expr.place.in_macro));
    assert_eq!(swizzles, ["v.xy.x", "v.xy"]);
    assert_eq!(texts(&tree, |expr| matches!(&expr.kind, ExprKind::Reinterpret(_))), ["as_uint(v.x)"]);
    assert_eq!(
        texts(&tree, |expr| matches!(&expr.kind, ExprKind::VectorLiteral(_))),
        ["(float4)(1.0f, 2, SUM * 2, M_PI_F)"]
    );
    let kernel = tree.kernel("k").unwrap();
    let StmtKind::Block(statements) = &kernel.body.kind else { panic!() };
    let last = statements.last().unwrap();
    assert_eq!(&tree.source[last.full.clone()], "out[x] = clamp(twice(sum), 0, 255) ;");
    assert_eq!(&tree.source[kernel.parameters[0].name_range.clone()], "in");
    assert!(!tree.functions[0].is_kernel);
}

#[test]
fn parts_of_macros_are_not_exact() {
    let tree = tree(SOURCE);
    let mut found = Vec::new();
    tree.kernel("k").unwrap().body.walk_expressions(&mut |expr| {
        if expr.place.in_macro {
            found.push((tree.text(&expr.place).to_owned(), expr.place.exact));
        }
    });
    // The product `1 * 2` that `SUM * 2` is read as stands nowhere.
    assert!(found.contains(&("SUM * 2".to_owned(), true)) && found.contains(&("SUM * 2".to_owned(), false)));
    assert!(found.contains(&("SQUARE(i /* squared */)".to_owned(), true)));
    assert!(found.contains(&("SQUARE(i /* squared */)".to_owned(), false)));
    assert!(found.contains(&("W".to_owned(), true)));
}

#[test]
fn an_index_is_a_sum() {
    let tree = tree(
        "kernel void k(global int *p, int w) { int x = get_global_id(0), y = get_global_id(1);
        p[(y + 1) * w + 3 * x - (2 << 1)] = 0; }",
    );
    let mut sums = Vec::new();
    tree.kernel("k").unwrap().body.walk_expressions(&mut |expr| {
        if let ExprKind::Index { index, .. } = &expr.kind {
            sums.push(affine(index, &|expr| tree.text(&expr.place).to_owned(), &|_| None));
        }
    });
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let expected =
        Affine { constant: -4, terms: [(of(&["w", "y"]), 1), (of(&["w"]), 1), (of(&["x"]), 3)].into() };
    assert_eq!(sums, std::slice::from_ref(&expected));
    assert_eq!((expected.coefficient("x"), expected.coefficient("y")), (Some(3), None));
}
