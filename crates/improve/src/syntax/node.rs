//! The nodes of the syntax tree.

use std::ops::Range;

use super::types::Type;

/// A declared name: two nodes with the same symbol mean the same variable or function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Symbol(pub(super) u32);

/// Where a node stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRange {
    /// Its bytes in the source; for a node of a macro's expansion, those of the expansion.
    pub range: Range<usize>,
    /// Whether these bytes are this node and nothing else, so that they can be copied or replaced. A whole expansion
    /// can be; a part of one cannot.
    pub exact: bool,
    /// Whether the node, or a part of it, comes from a macro.
    pub in_macro: bool,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Its location.
    pub place: SourceRange,
    /// Its type.
    pub ty: Type,
    /// What it is.
    pub kind: ExprKind,
}

/// What a name refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A parameter of a function.
    Parameter,
    /// A local variable, or one at file scope.
    Variable,
    /// A function of the source or of the language.
    Function,
    /// A constant of an `enum`.
    Constant,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer or character constant.
    Integer(i128),
    /// A floating-point constant.
    Float(f64),
    /// A variable, parameter or function.
    Name {
        /// What it refers to.
        symbol: Symbol,
        /// Its spelling.
        name: String,
        /// What it is.
        kind: NameKind,
    },
    /// `-a`, `!a`, `~a`, `*a`, `&a`, `++a`, `a++`.
    Unary {
        /// The operator.
        operator: String,
        /// Whether it follows the operand.
        postfix: bool,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `a + b`, comparisons and logic, the comma included.
    Binary {
        /// The operator.
        operator: String,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `a = b`, `a += b`.
    Assign {
        /// `+` of `+=`; `None` for `=`.
        operator: Option<String>,
        /// The type in which `operator` computes; for `=`, the target's.
        computed: Type,
        /// What is assigned to.
        target: Box<Expr>,
        /// The value.
        value: Box<Expr>,
    },
    /// `c ? a : b`.
    Conditional {
        /// The condition.
        condition: Box<Expr>,
        /// The value where it holds.
        then: Box<Expr>,
        /// The value elsewhere.
        otherwise: Box<Expr>,
    },
    /// A call of a function by its name.
    Call {
        /// The function's name.
        name: String,
        /// The function.
        symbol: Symbol,
        /// The arguments, converted to the parameters' types.
        arguments: Vec<Expr>,
    },
    /// `base[index]`.
    Index {
        /// The pointer or array.
        base: Box<Expr>,
        /// The index.
        index: Box<Expr>,
    },
    /// A field of a struct.
    Field {
        /// The struct.
        base: Box<Expr>,
        /// The field's name.
        name: String,
        /// Whether it is written `->`.
        arrow: bool,
    },
    /// Components of a vector: `v.xyz`, `v.s01`.
    Swizzle {
        /// The vector.
        base: Box<Expr>,
        /// The components as written, without the dot.
        components: String,
    },
    /// `(float4)(a, b, c, d)`.
    VectorLiteral(Vec<Expr>),
    /// `{ a, b }` of an array or struct.
    List(Vec<Expr>),
    /// A cast.
    Cast {
        /// Whether the source does not say it.
        implicit: bool,
        /// Clang's kind: `LValueToRValue`, `IntegralCast`, `IntegralToFloating`, `VectorSplat`…
        conversion: String,
        /// What is converted.
        operand: Box<Expr>,
    },
    /// `as_uint(x)`.
    Reinterpret(Box<Expr>),
    /// `(a)`.
    Parentheses(Box<Expr>),
    /// `sizeof` and everything that this tree does not know.
    Other {
        /// Clang's name of the node.
        kind: String,
        /// Its expressions.
        inner: Vec<Expr>,
    },
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// Its location, without a closing semicolon where clang's range leaves it out; see [`Stmt::full`].
    pub place: SourceRange,
    /// Its bytes with the closing semicolon, and with a `#pragma unroll` or an attribute before it.
    pub full: Range<usize>,
    /// What it is.
    pub kind: StmtKind,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `{ … }`.
    Block(Vec<Stmt>),
    /// Declarations of variables.
    Declare(Vec<Variable>),
    /// An expression.
    Expr(Expr),
    /// `if`.
    If {
        /// The condition.
        condition: Expr,
        /// The statement where it holds.
        then: Box<Stmt>,
        /// The statement after `else`.
        otherwise: Option<Box<Stmt>>,
    },
    /// `for`.
    For {
        /// A declaration or an expression.
        first: Option<Box<Stmt>>,
        /// The condition.
        condition: Option<Expr>,
        /// What is done after each turn.
        step: Option<Expr>,
        /// The body.
        body: Box<Stmt>,
    },
    /// `while`, or `do … while`.
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Box<Stmt>,
        /// Whether the body runs before the condition is tested.
        after: bool,
    },
    /// `return`.
    Return(Option<Expr>),
    /// `break`.
    Break,
    /// `continue`.
    Continue,
    /// A semicolon alone.
    Empty,
    /// `switch`, `goto`, labels, `asm` and everything else that this tree does not know.
    Other {
        /// Clang's name of the node.
        kind: String,
        /// Its statements and expressions.
        inner: Vec<Stmt>,
    },
}

/// A variable or parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The variable.
    pub symbol: Symbol,
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether its type is `const`.
    pub constant: bool,
    /// Its location, from the type's first word to the initial value.
    pub place: SourceRange,
    /// The bytes of its name.
    pub name_range: Range<usize>,
    /// Its initial value.
    pub value: Option<Expr>,
    /// Whether it lies in `__local` memory, or is `static`, `extern` or `volatile`.
    pub shared: bool,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The function.
    pub symbol: Symbol,
    /// Its name.
    pub name: String,
    /// Whether it is a kernel.
    pub is_kernel: bool,
    /// Its location, from the first word of its type to the closing brace, without attributes before it.
    pub place: SourceRange,
    /// The bytes of its name.
    pub name_range: Range<usize>,
    /// Its parameters.
    pub parameters: Vec<Variable>,
    /// Its body, a [`StmtKind::Block`].
    pub body: Stmt,
}

impl Expr {
    /// The expression without parentheses and implicit casts around it.
    pub fn bare(&self) -> &Self {
        match &self.kind {
            ExprKind::Parentheses(inner) => inner.bare(),
            ExprKind::Cast { implicit: true, operand, .. } => operand.bare(),
            _ => self,
        }
    }

    /// The variable or function that this names, parentheses and implicit casts aside.
    pub fn symbol(&self) -> Option<Symbol> {
        match &self.bare().kind {
            ExprKind::Name { symbol, .. } => Some(*symbol),
            _ => None,
        }
    }

    /// The expressions directly inside.
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            ExprKind::Integer(_) | ExprKind::Float(_) | ExprKind::Name { .. } => Vec::new(),
            ExprKind::Unary { operand: inner, .. }
            | ExprKind::Field { base: inner, .. }
            | ExprKind::Swizzle { base: inner, .. }
            | ExprKind::Cast { operand: inner, .. }
            | ExprKind::Reinterpret(inner)
            | ExprKind::Parentheses(inner) => vec![inner],
            ExprKind::Binary { left, right, .. } => vec![left, right],
            ExprKind::Assign { target, value, .. } => vec![target, value],
            ExprKind::Conditional { condition, then, otherwise } => vec![condition, then, otherwise],
            ExprKind::Index { base, index } => vec![base, index],
            ExprKind::Call { arguments: inner, .. }
            | ExprKind::VectorLiteral(inner)
            | ExprKind::List(inner)
            | ExprKind::Other { inner, .. } => inner.iter().collect(),
        }
    }

    /// Calls `visit` for this expression and all inside it, the outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Whether `test` holds for this expression or one inside it.
    pub fn any(&self, mut test: impl FnMut(&Self) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |expr| found = found || test(expr));
        found
    }

    /// Whether evaluating it changes a variable or memory, or calls a function of the source.
    pub fn assigns(&self) -> bool {
        self.any(|expr| match &expr.kind {
            ExprKind::Assign { .. } => true,
            ExprKind::Unary { operator, .. } => operator == "++" || operator == "--",
            _ => false,
        })
    }
}

impl Stmt {
    /// The statements directly inside.
    pub fn children(&self) -> Vec<&Self> {
        match &self.kind {
            StmtKind::Block(inner) | StmtKind::Other { inner, .. } => inner.iter().collect(),
            StmtKind::If { then, otherwise, .. } => {
                [&**then].into_iter().chain(otherwise.as_deref()).collect()
            }
            StmtKind::For { first, body, .. } => first.as_deref().into_iter().chain([&**body]).collect(),
            StmtKind::While { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The expressions directly inside, initial values of variables included.
    pub fn expressions(&self) -> Vec<&Expr> {
        match &self.kind {
            StmtKind::Declare(variables) => variables.iter().filter_map(|it| it.value.as_ref()).collect(),
            StmtKind::Expr(expr) => vec![expr],
            StmtKind::If { condition, .. } | StmtKind::While { condition, .. } => vec![condition],
            StmtKind::For { condition, step, .. } => condition.iter().chain(step).collect(),
            StmtKind::Return(value) => value.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// Calls `visit` for this statement and all inside it, the outermost first.
    pub fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        for child in self.children() {
            child.walk(visit);
        }
    }

    /// Calls `visit` for all expressions in this statement and those inside it.
    pub fn walk_expressions<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        self.walk(&mut |stmt| {
            for expr in stmt.expressions() {
                expr.walk(visit);
            }
        });
    }
}
