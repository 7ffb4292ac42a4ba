//! Reads clang's JSON.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use super::node::{Expr, ExprKind, Function, NameKind, SourceRange, Stmt, StmtKind, Symbol, Variable};
use super::places::{Location, Places};
use super::types::Type;

/// Reads declarations, in the order in which clang prints them: a location names its file only where it differs from
/// the one before.
pub(super) struct Reader<'s> {
    places: Places<'s>,
    symbols: HashMap<String, Symbol>,
    aliases: HashMap<String, String>,
    pub(super) functions: Vec<Function>,
    pub(super) globals: Vec<Variable>,
    /// The macro expansion that the enclosing node lies in, by its offset.
    outer: Option<usize>,
}

const NOTHING: &[Value] = &[];

fn inner(node: &Value) -> &[Value] {
    let list = |name: &str| node.get(name).and_then(Value::as_array).map(Vec::as_slice);
    // The elements of an array with fewer values than elements; the first is the value of the rest.
    list("inner")
        .or_else(|| list("array_filler").map(|list| list.get(1..).unwrap_or(NOTHING)))
        .unwrap_or(NOTHING)
}

fn text<'v>(node: &'v Value, name: &str) -> &'v str {
    node.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl<'s> Reader<'s> {
    pub(super) fn new(source: &'s str) -> Self {
        Self {
            places: Places::new(source),
            symbols: HashMap::new(),
            aliases: HashMap::new(),
            functions: Vec::new(),
            globals: Vec::new(),
            outer: None,
        }
    }

    /// Reads the whole tree.
    pub(super) fn unit(&mut self, root: &Value) {
        for node in inner(root) {
            match text(node, "kind") {
                "FunctionDecl" => self.function(node),
                "VarDecl" => {
                    let (_, in_source) = self.own(node);
                    let variable = self.variable_after(node);
                    if in_source {
                        self.globals.push(variable);
                    }
                }
                kind => {
                    self.skip(node);
                    if kind == "TypedefDecl" {
                        let ty = node.get("type").map(type_text).unwrap_or_default();
                        self.aliases.insert(text(node, "name").to_owned(), ty.to_owned());
                    }
                }
            }
        }
    }

    fn symbol(&mut self, id: &str) -> Symbol {
        let next = Symbol(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        *self.symbols.entry(id.to_owned()).or_insert(next)
    }

    fn ty(&self, node: &Value) -> Type {
        self.type_of(node.get("type").map(type_text).unwrap_or_default())
    }

    fn type_of(&self, text: &str) -> Type {
        let mut changed = String::new();
        for word in text.split_inclusive(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            let name = word.trim_end_matches(|letter: char| !letter.is_alphanumeric() && letter != '_');
            match self.aliases.get(name) {
                // A pointer or array behind a name would need more than the word.
                Some(alias) if !alias.contains(['*', '[', '(']) => {
                    changed.push_str(alias);
                    changed.push_str(&word[name.len()..]);
                }
                _ => changed.push_str(word),
            }
        }
        Type::parse(&changed)
    }

    /// Follows the locations of a node that is not read.
    fn skip(&mut self, node: &Value) {
        self.own(node);
        for child in inner(node) {
            self.skip(child);
        }
    }

    /// The node's location and whether its name stands in the source.
    fn own(&mut self, node: &Value) -> (Location, bool) {
        let at = node.get("loc").map_or(Location::Nowhere, |loc| self.places.location(loc));
        (at, at.is_in_source())
    }

    /// The node's place; inside `read`, its expansion is that of its children.
    fn range_of(&mut self, node: &Value) -> SourceRange {
        let range = node.get("range");
        let begin =
            range.and_then(|it| it.get("begin")).map_or(Location::Nowhere, |it| self.places.location(it));
        let end = range.and_then(|it| it.get("end")).map_or(Location::Nowhere, |it| self.places.location(it));
        let (mut place, expansion) = self.places.range_between(begin, end, self.outer);
        self.outer = expansion;
        if place.exact {
            place.range.end = self.places.closed(&place.range);
        }
        place
    }

    fn function(&mut self, node: &Value) {
        let (name_at, in_source) = self.own(node);
        let place = self.range_of(node);
        let symbol = self.symbol(text(node, "id"));
        let mut parameters = Vec::new();
        let mut body = None;
        let mut is_kernel = false;
        for child in inner(node) {
            match text(child, "kind") {
                "ParmVarDecl" => parameters.push(self.variable(child)),
                "CompoundStmt" => body = Some(self.statement(child)),
                kind => {
                    is_kernel |= kind == "OpenCLKernelAttr";
                    self.skip(child);
                }
            }
        }
        self.outer = None;
        let name_range = name_at.range();
        if let Some(body) = body.filter(|_| in_source) {
            let name = text(node, "name").to_owned();
            self.functions.push(Function { symbol, name, is_kernel, place, name_range, parameters, body });
        }
    }

    fn variable(&mut self, node: &Value) -> Variable {
        let outer = self.outer;
        let (name_at, _) = self.own(node);
        let mut variable = self.variable_after(node);
        variable.name_range = name_at.range();
        self.outer = outer;
        variable
    }

    /// A variable whose own location has been read.
    fn variable_after(&mut self, node: &Value) -> Variable {
        let place = self.range_of(node);
        let written = node.get("type").map(type_text).unwrap_or_default();
        let own = &written[written.rfind('*').map_or(0, |star| star + 1)..];
        let has = |word: &str| {
            own.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|it| it == word)
        };
        let constant = has("const");
        let storage = text(node, "storageClass");
        let shared = has("__local") || has("volatile") || ["static", "extern"].contains(&storage);
        let mut value = None;
        for child in inner(node) {
            if text(child, "kind").ends_with("Attr") {
                self.skip(child);
            } else {
                value = Some(self.expression(child));
            }
        }
        Variable {
            symbol: self.symbol(text(node, "id")),
            name: text(node, "name").to_owned(),
            ty: self.ty(node),
            constant,
            place,
            name_range: 0..0,
            value,
            shared,
        }
    }

    fn statement(&mut self, node: &Value) -> Stmt {
        let outer = self.outer;
        self.own(node);
        let kind = text(node, "kind");
        let children = inner(node);
        if let ("AttributedStmt", Some((last, attributes))) = (kind, children.split_last()) {
            return self.with_attributes(node, attributes, last, outer);
        }
        if kind.ends_with("Expr") || kind.ends_with("Operator") || kind.ends_with("Literal") {
            let expr = self.expression(node);
            let full = self.with_semicolon(&expr.place.range);
            return Stmt { place: expr.place.clone(), full, kind: StmtKind::Expr(expr) };
        }
        let place = self.range_of(node);
        let mut full = place.range.clone();
        let part = |index: usize| children.get(index).filter(|child| !text(child, "kind").is_empty());
        let read = match kind {
            "CompoundStmt" => StmtKind::Block(children.iter().map(|child| self.statement(child)).collect()),
            "DeclStmt" if children.iter().all(|child| text(child, "kind") == "VarDecl") => {
                StmtKind::Declare(children.iter().map(|child| self.variable(child)).collect())
            }
            "IfStmt" => {
                let condition = self.expression(&children[0]);
                let then = Box::new(self.statement(part(1).unwrap_or(&Value::Null)));
                let otherwise = part(2).map(|child| Box::new(self.statement(child)));
                full.end = otherwise.as_ref().map_or(then.full.end, |it| it.full.end);
                StmtKind::If { condition, then, otherwise }
            }
            "ForStmt" => {
                let first = part(0).map(|child| Box::new(self.statement(child)));
                let condition = part(2).map(|child| self.expression(child));
                let step = part(3).map(|child| self.expression(child));
                let body = Box::new(self.statement(part(4).unwrap_or(&Value::Null)));
                full.end = body.full.end;
                StmtKind::For { first, condition, step, body }
            }
            "WhileStmt" => {
                let condition = self.expression(&children[0]);
                let body = Box::new(self.statement(part(1).unwrap_or(&Value::Null)));
                full.end = body.full.end;
                StmtKind::While { condition, body, after: false }
            }
            "DoStmt" => {
                let body = Box::new(self.statement(&children[0]));
                let condition = self.expression(part(1).unwrap_or(&Value::Null));
                full = self.with_semicolon(&full);
                StmtKind::While { condition, body, after: true }
            }
            "ReturnStmt" | "BreakStmt" | "ContinueStmt" => {
                full = self.with_semicolon(&full);
                match kind {
                    "ReturnStmt" => StmtKind::Return(part(0).map(|child| self.expression(child))),
                    "BreakStmt" => StmtKind::Break,
                    _ => StmtKind::Continue,
                }
            }
            "NullStmt" => StmtKind::Empty,
            _ => StmtKind::Other {
                kind: kind.to_owned(),
                inner: children.iter().map(|child| self.statement(child)).collect(),
            },
        };
        self.outer = outer;
        Stmt { place, full, kind: read }
    }

    /// A statement with what is said about it: `#pragma unroll`, `__attribute__((opencl_unroll_hint))`.
    fn with_attributes(
        &mut self,
        node: &Value,
        attributes: &[Value],
        last: &Value,
        outer: Option<usize>,
    ) -> Stmt {
        let place = self.range_of(node);
        self.outer = outer;
        for attribute in attributes {
            self.skip(attribute);
        }
        let mut stmt = self.statement(last);
        if !place.in_macro {
            stmt.full.start = place.range.start.min(stmt.full.start);
        }
        stmt
    }

    fn with_semicolon(&self, range: &Range<usize>) -> Range<usize> {
        let end = self.places.after(range.end);
        let closed = self.places.source.get(end..).is_some_and(|rest| rest.starts_with(';'));
        range.start..if closed { end + 1 } else { range.end }
    }

    fn expression(&mut self, node: &Value) -> Expr {
        let outer = self.outer;
        let kind = text(node, "kind");
        let children = inner(node);
        if kind == "ConstantExpr" && children.len() == 1 {
            self.range_of(node);
            self.outer = outer;
            return self.expression(&children[0]);
        }
        let place = self.range_of(node);
        let mut parts: Vec<Expr> = children.iter().map(|child| self.expression(child)).collect();
        let ty = self.ty(node);
        let operator = text(node, "opcode").to_owned();
        let count = parts.len();
        let mut take = || Box::new(parts.remove(0));
        let read = match (kind, count) {
            ("IntegerLiteral", _) => text(node, "value").parse().ok().map(ExprKind::Integer),
            ("CharacterLiteral", _) => {
                node.get("value").and_then(Value::as_i64).map(|value| ExprKind::Integer(value.into()))
            }
            ("FloatingLiteral", _) => text(node, "value").parse().ok().map(ExprKind::Float),
            ("DeclRefExpr", _) => self.name(node),
            ("ParenExpr", 1) => Some(ExprKind::Parentheses(take())),
            ("UnaryOperator", 1) => {
                let postfix = node.get("isPostfix").and_then(Value::as_bool).unwrap_or(false);
                Some(ExprKind::Unary { operator, postfix, operand: take() })
            }
            ("BinaryOperator", 2) if operator == "=" => {
                let (target, value) = (take(), take());
                Some(ExprKind::Assign { operator: None, computed: target.ty.clone(), target, value })
            }
            ("BinaryOperator", 2) => Some(ExprKind::Binary { operator, left: take(), right: take() }),
            ("CompoundAssignOperator", 2) => {
                let computed = self.type_of(node.get("computeResultType").map(type_text).unwrap_or_default());
                let operator = Some(operator.trim_end_matches('=').to_owned());
                Some(ExprKind::Assign { operator, computed, target: take(), value: take() })
            }
            ("ConditionalOperator", 3) => {
                Some(ExprKind::Conditional { condition: take(), then: take(), otherwise: take() })
            }
            ("ArraySubscriptExpr", 2) => Some(ExprKind::Index { base: take(), index: take() }),
            ("MemberExpr", 1) => {
                let arrow = node.get("isArrow").and_then(Value::as_bool).unwrap_or(false);
                Some(ExprKind::Field { base: take(), name: text(node, "name").to_owned(), arrow })
            }
            ("ExtVectorElementExpr", 1) => {
                // Clang's JSON does not say which components: the last word of the node's text does.
                let end = node.get("range").and_then(|range| range.get("end"));
                let components = end.and_then(|end| self.places.word_at(end)).map(str::to_owned);
                components.map(|components| ExprKind::Swizzle { base: take(), components })
            }
            ("InitListExpr", _) => Some(ExprKind::List(std::mem::take(&mut parts))),
            ("CompoundLiteralExpr", 1) if matches!(ty, Type::Vector(..)) => match parts.remove(0).kind {
                ExprKind::List(values) => Some(ExprKind::VectorLiteral(values)),
                _ => None,
            },
            ("ImplicitCastExpr" | "CStyleCastExpr", 1) => {
                let conversion = text(node, "castKind").to_owned();
                Some(ExprKind::Cast { implicit: kind == "ImplicitCastExpr", conversion, operand: take() })
            }
            ("AsTypeExpr", 1) => Some(ExprKind::Reinterpret(match parts.remove(0) {
                Expr { kind: ExprKind::Parentheses(inner), .. } => inner,
                other => Box::new(other),
            })),
            ("CallExpr", 1..) => match parts[0].bare().kind.clone() {
                ExprKind::Name { symbol, name, .. } => {
                    Some(ExprKind::Call { name, symbol, arguments: parts.split_off(1) })
                }
                _ => None,
            },
            _ => None,
        };
        let read = read.unwrap_or_else(|| ExprKind::Other { kind: kind.to_owned(), inner: parts });
        self.outer = outer;
        Expr { place, ty, kind: read }
    }

    fn name(&mut self, node: &Value) -> Option<ExprKind> {
        let declared = node.get("referencedDecl")?;
        let kind = match text(declared, "kind") {
            "ParmVarDecl" => NameKind::Parameter,
            "VarDecl" => NameKind::Variable,
            "FunctionDecl" => NameKind::Function,
            "EnumConstantDecl" => NameKind::Constant,
            _ => return None,
        };
        let symbol = self.symbol(text(declared, "id"));
        Some(ExprKind::Name { symbol, name: text(declared, "name").to_owned(), kind })
    }
}

/// The words of a type, behind names given to it where clang says.
fn type_text(ty: &Value) -> &str {
    match text(ty, "desugaredQualType") {
        "" => text(ty, "qualType"),
        plain => plain,
    }
}
