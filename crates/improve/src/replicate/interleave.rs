//! Pixels of several channels as one row of numbers.
//!
//! A kernel that does the same for each channel, with indices `3 * x + c`, does the same for each number of a row: the
//! n pixels of a work-item are 3 n neighbouring numbers, in three vectors of n lanes. In the loop over channels, `c`
//! then steps by n.

use crate::syntax::{Affine, Expr, ExprKind, Stmt, StmtKind, Symbol, fold};

use super::assume::term_of;
use super::shape::Shape;
use super::{Engine, Obstacle};
use crate::syntax::text::Text;

/// A loop over channels that the walk is in: its variable, and how much its start grows from pixel to pixel.
type Channel = (Symbol, i128);

impl Engine<'_> {
    /// Checks that all accesses are to channels in turn; needed where [`super::Plan::channels`] is set.
    pub(super) fn check_channels(&self) -> Result<(), Obstacle> {
        if self.plan.channels.is_none() {
            return Ok(());
        }
        let mut found = false;
        self.channels_of(&self.kernel.body, &mut Vec::new(), &mut found)?;
        if found {
            Ok(())
        } else {
            Err(Obstacle { reason: "no loop over channels".to_owned(), at: self.kernel.name.clone() })
        }
    }

    /// The variable of a loop over channels.
    pub(super) fn channel_loop(&self, stmt: &Stmt) -> Option<Channel> {
        let channels = self.plan.channels?;
        let StmtKind::For { first, step, .. } = &stmt.kind else { return None };
        let by_one = match &step.as_ref()?.kind {
            ExprKind::Unary { operator, .. } => operator == "++",
            ExprKind::Assign { value, .. } => fold(value) == Some(1),
            _ => false,
        };
        let symbol = match &first.as_deref()?.kind {
            StmtKind::Declare(variables) if variables.len() == 1 => variables[0].symbol,
            _ => return None,
        };
        let turns = self.turns.get(&symbol).filter(|turns| turns.below == 1)?;
        let count = self.sum(turns.most).difference(&self.sum(turns.least))?;
        let start = self.pixel_stride(&self.sum(turns.least))?;
        (by_one && count == channels && (start == 0 && fold(turns.least) == Some(0) || start == channels))
            .then_some((symbol, start))
    }

    /// The growth of a sum from pixel to pixel.
    fn pixel_stride(&self, sum: &Affine) -> Option<i128> {
        let (along, _) = self.plan.vector?;
        sum.coefficient(&format!("@{along}"))
    }

    fn channels_of(&self, stmt: &Stmt, inside: &mut Vec<Channel>, found: &mut bool) -> Result<(), Obstacle> {
        let channel = self.channel_loop(stmt);
        let header: Vec<&Expr> = if channel.is_some() { Vec::new() } else { stmt.expressions() };
        for expr in header {
            self.uses(expr, inside, found)?;
        }
        inside.extend(channel);
        for child in stmt.children() {
            let is_header = match &stmt.kind {
                StmtKind::For { first, .. } => {
                    first.as_deref().is_some_and(|first| std::ptr::eq(first, child))
                }
                _ => false,
            };
            if !(is_header && channel.is_some()) {
                self.channels_of(child, inside, found)?;
            }
        }
        if channel.is_some() {
            inside.pop();
        }
        Ok(())
    }

    /// Checks the uses of the position in an expression.
    fn uses(&self, expr: &Expr, inside: &[Channel], found: &mut bool) -> Result<(), Obstacle> {
        match &expr.kind {
            ExprKind::Index { base, index } if self.private_array(base).is_none() => {
                let sum = self.sum(index);
                let Some(mut pixels) = self.pixel_stride(&sum) else {
                    return self.refuse(expr, "an index that is no sum");
                };
                let mut steps = 0;
                for (symbol, start) in inside {
                    let Some(times) = sum.coefficient(&term_of(*symbol)) else {
                        return self.refuse(expr, "an index that is no sum");
                    };
                    pixels += times * start;
                    steps += times;
                }
                if self.shape(base)? != Shape::Uniform
                    || steps * self.plan.channels.unwrap_or(1) != pixels
                    || steps > 1
                {
                    return self.refuse(expr, "a channel of its own");
                }
                *found |= steps == 1;
                Ok(())
            }
            ExprKind::Index { index, .. }
                if inside.iter().any(|(symbol, _)| index.symbol() == Some(*symbol)) =>
            {
                Ok(())
            }
            ExprKind::Name { symbol, .. } if inside.iter().any(|(other, _)| other == symbol) => {
                self.refuse(expr, "a value that depends on the channel")
            }
            // Positions are used in indices alone: a vector of them is refused where it is written.
            _ if matches!(self.shape(expr)?, Shape::Strided(_)) => Ok(()),
            _ => expr.children().into_iter().try_for_each(|child| self.uses(child, inside, found)),
        }
    }

    /// The index of a private array, where the loop over channels steps by lanes.
    pub(super) fn array_index(&mut self, index: &Expr, copy: usize) -> Result<Text, Obstacle> {
        let text = self.scalar(index, copy)?;
        let is_channel = index.symbol().is_some_and(|symbol| {
            self.plan.channels.is_some()
                && self.turns.get(&symbol).is_some_and(|turns| {
                    fold(turns.least) == Some(0) && fold(turns.most) == self.plan.channels
                })
        });
        Ok(if is_channel { text.binary("/", &Text::primary(self.plan.lanes().to_string())) } else { text })
    }

    /// The header of a loop over channels: `for (int c = 0; c < 48; c += 16) `.
    pub(super) fn channel_header(
        &mut self,
        stmt: &Stmt,
        symbol: Symbol,
        copy: usize,
    ) -> Result<String, Obstacle> {
        let StmtKind::For { first: Some(first), .. } = &stmt.kind else { return self.refuse_loop(stmt) };
        let StmtKind::Declare(variables) = &first.kind else { return self.refuse_loop(stmt) };
        let lanes = self.plan.lanes() as i128;
        let numbers = self.plan.channels.unwrap_or(1) * lanes;
        let declared = self.declare(first, variables, &[copy])?;
        let (Some(turns), [declared]) = (self.turns.get(&symbol).copied(), &declared[..]) else {
            return self.refuse_loop(stmt);
        };
        let end = match &turns.most.bare().kind {
            _ if fold(turns.most).is_some() => numbers.to_string(),
            ExprKind::Binary { operator, left, right }
                if operator == "+" && fold(right) == self.plan.channels =>
            {
                self.scalar(left, copy)?.plus(numbers).text
            }
            _ => return self.refuse_loop(stmt),
        };
        let name = &variables[0].name;
        Ok(format!("for ({declared} {name} < {end}; {name} += {lanes}) "))
    }

    fn refuse_loop<T>(&self, stmt: &Stmt) -> Result<T, Obstacle> {
        self.refuse_statement(stmt, "a loop over channels of another form")
    }
}
