//! Operations as single words: `add`, `load.16.volatile`, `convert.f.u.rtz.sat`.

use std::fmt;
use std::str::{FromStr, Split};

use cranelift_entity::EntityRef as _;

use super::{
    AccessAttributes, Address, Atomic, AtomicOp, Binary, Builtin, Compare, Convert, Dot, Group, GroupOp,
    GroupScope, ImageFact, Level, MemoryOrder, Number, Op, Query, QueryKind, Reduction, Rounding, Scope,
    Semantics, ShuffleMask, Unary,
};
use crate::{Object, ProgramObject};

impl fmt::Display for Semantics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.order.name())?;
        for (set, name) in [(self.local, ".local"), (self.global, ".global"), (self.image, ".image")] {
            if set {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for AccessAttributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.align)?;
        if self.volatile {
            f.write_str(".volatile")?;
        }
        if self.vector_builtin {
            f.write_str(".vec")?;
        }
        Ok(())
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.scope.name())?;
        match self.op {
            GroupOp::Reduce(reduction) => write!(f, "reduce.{}", reduction.name())?,
            GroupOp::InclusiveScan(reduction) => write!(f, "inclusive.{}", reduction.name())?,
            GroupOp::ExclusiveScan(reduction) => write!(f, "exclusive.{}", reduction.name())?,
            GroupOp::ClusterReduce(reduction, size) => write!(f, "cluster.{}.{size}", reduction.name())?,
            plain => {
                let name = PLAIN_GROUPS.iter().find(|entry| entry.0 == plain).map_or("?", |entry| entry.1);
                f.write_str(name)?;
            }
        }
        if self.active_only {
            f.write_str(".active")?;
        }
        Ok(())
    }
}

const PLAIN_GROUPS: [(GroupOp, &str); 16] = [
    (GroupOp::All, "all"),
    (GroupOp::Any, "any"),
    (GroupOp::AllEqual, "allequal"),
    (GroupOp::Broadcast, "broadcast"),
    (GroupOp::BroadcastFirst, "first"),
    (GroupOp::Elect, "elect"),
    (GroupOp::Shuffle, "shuffle"),
    (GroupOp::ShuffleXor, "shuffle_xor"),
    (GroupOp::ShuffleUp, "shuffle_up"),
    (GroupOp::ShuffleDown, "shuffle_down"),
    (GroupOp::Ballot, "ballot"),
    (GroupOp::InverseBallot, "inverse_ballot"),
    (GroupOp::BallotBit, "ballot_bit"),
    (GroupOp::BallotCount, "ballot_count"),
    (GroupOp::BallotLeast, "ballot_least"),
    (GroupOp::BallotGreatest, "ballot_greatest"),
];

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unary(op) => f.write_str(op.name()),
            Self::Binary(op) => f.write_str(op.name()),
            Self::Compare(op) => f.write_str(op.name()),
            Self::Select => f.write_str("select"),
            Self::Convert(Convert { from, to, rounding, saturate }) => {
                write!(f, "convert.{}.{}.{}", from.name(), to.name(), rounding.name())?;
                f.write_str(if *saturate { ".sat" } else { "" })
            }
            Self::Bitcast => f.write_str("bitcast"),
            Self::PointerToInt => f.write_str("ptrtoint"),
            Self::IntToPointer => f.write_str("inttoptr"),
            Self::SpaceCast { checked } => {
                f.write_str(if *checked { "spacecast.checked" } else { "spacecast" })
            }
            Self::Construct => f.write_str("construct"),
            Self::Extract(lane) => write!(f, "extract.{lane}"),
            Self::Insert(lane) => write!(f, "insert.{lane}"),
            Self::ExtractDynamic => f.write_str("extractdynamic"),
            Self::InsertDynamic => f.write_str("insertdynamic"),
            Self::Shuffle(mask) => {
                f.write_str("shuffle")?;
                mask.lanes().try_for_each(|lane| match lane {
                    Some(lane) => write!(f, ".{lane}"),
                    None => f.write_str("._"),
                })
            }
            Self::Undefined => f.write_str("undefined"),
            Self::ObjectAddress(object) => write!(f, "object.{}", object.index()),
            Self::ProgramAddress(object) => write!(f, "program.{}", object.index()),
            Self::Address(Address { stride, offset, count, in_bounds }) => {
                write!(f, "address.{stride}.{offset}")?;
                if let Some(count) = count {
                    write!(f, ".count.{count}")?;
                }
                f.write_str(if *in_bounds { ".inbounds" } else { "" })
            }
            Self::Load(access) => write!(f, "load.{access}"),
            Self::Store(access) => write!(f, "store.{access}"),
            Self::Copy(access) => write!(f, "copy.{access}"),
            Self::LifetimeStart(object) => write!(f, "start.{}", object.index()),
            Self::LifetimeEnd(object) => write!(f, "end.{}", object.index()),
            Self::Atomic(Atomic { op, scope, semantics }) => {
                write!(f, "atomic.{}.{}.{semantics}", op.name(), scope.name())
            }
            Self::Barrier { execution, memory, semantics } => {
                write!(f, "barrier.{}.{}.{semantics}", execution.name(), memory.name())
            }
            Self::Fence { scope, semantics } => write!(f, "fence.{}.{semantics}", scope.name()),
            Self::AsyncCopy { scope, bytes, used } => {
                write!(f, "asynccopy.{}.{bytes}.{used}", scope.name())
            }
            Self::WaitEvents { scope } => write!(f, "waitevents.{}", scope.name()),
            Self::WaitCopies { scope } => write!(f, "waitcopies.{}", scope.name()),
            Self::Group(group) => write!(f, "group.{group}"),
            Self::Dot(Dot { a_signed, b_signed, accumulate }) => {
                let sign = |signed: bool| if signed { "s" } else { "u" };
                write!(f, "dot.{}.{}", sign(*a_signed), sign(*b_signed))?;
                f.write_str(if *accumulate { ".sat" } else { "" })
            }
            Self::Query(Query { kind, dimension }) if kind.has_dimension() => {
                write!(f, "query.{}.{dimension}", kind.name())
            }
            Self::Query(query) => write!(f, "query.{}", query.kind.name()),
            Self::ImageSample(level) => write!(f, "imagesample.{}", level.name()),
            Self::ImageRead { level } => f.write_str(if *level { "imageread.lod" } else { "imageread" }),
            Self::ImageWrite { level } => f.write_str(if *level { "imagewrite.lod" } else { "imagewrite" }),
            Self::ImageQuery(fact) => write!(f, "imagequery.{}", fact.name()),
            Self::Printf(format) => write!(f, "printf.{format}"),
            Self::Builtin(builtin) => write!(f, "call.{}", builtin.name()),
        }
    }
}

/// The word is not an operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not an operation")]
pub struct WordError {
    /// The word.
    pub word: String,
}

impl FromStr for Op {
    type Err = WordError;

    fn from_str(word: &str) -> Result<Self, WordError> {
        let mut words = Words(word.split('.'));
        parse(&mut words)
            .filter(|_| words.0.next().is_none())
            .ok_or_else(|| WordError { word: word.to_owned() })
    }
}

struct Words<'a>(Split<'a, char>);

impl<'a> Words<'a> {
    fn word(&mut self) -> Option<&'a str> {
        self.0.next()
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.word()?.parse().ok()
    }

    /// Takes the next word if it is `name`.
    fn flag(&mut self, name: &str) -> bool {
        let mut ahead = self.0.clone();
        let found = ahead.next() == Some(name);
        if found {
            self.0 = ahead;
        }
        found
    }

    fn semantics(&mut self) -> Option<Semantics> {
        let order = MemoryOrder::named(self.word()?)?;
        Some(Semantics {
            order,
            local: self.flag("local"),
            global: self.flag("global"),
            image: self.flag("image"),
        })
    }

    fn access(&mut self) -> Option<AccessAttributes> {
        Some(AccessAttributes {
            align: self.number()?,
            volatile: self.flag("volatile"),
            vector_builtin: self.flag("vec"),
        })
    }

    fn scope(&mut self) -> Option<Scope> {
        Scope::named(self.word()?)
    }

    fn object(&mut self) -> Option<Object> {
        self.number::<u32>().filter(|number| *number < u32::MAX).map(Object::from_u32)
    }

    fn signed(&mut self) -> Option<bool> {
        match self.word()? {
            "s" => Some(true),
            "u" => Some(false),
            _ => None,
        }
    }

    fn group(&mut self) -> Option<Group> {
        let scope = GroupScope::named(self.word()?)?;
        let op = match self.word()? {
            "reduce" => GroupOp::Reduce(Reduction::named(self.word()?)?),
            "inclusive" => GroupOp::InclusiveScan(Reduction::named(self.word()?)?),
            "exclusive" => GroupOp::ExclusiveScan(Reduction::named(self.word()?)?),
            "cluster" => GroupOp::ClusterReduce(Reduction::named(self.word()?)?, self.number()?),
            plain => PLAIN_GROUPS.iter().find(|entry| entry.1 == plain)?.0,
        };
        Some(Group { scope, op, active_only: self.flag("active") })
    }
}

fn parse(words: &mut Words<'_>) -> Option<Op> {
    let head = words.word()?;
    Some(match head {
        "select" => Op::Select,
        "convert" => Op::Convert(Convert {
            from: Number::named(words.word()?)?,
            to: Number::named(words.word()?)?,
            rounding: Rounding::named(words.word()?)?,
            saturate: words.flag("sat"),
        }),
        "bitcast" => Op::Bitcast,
        "ptrtoint" => Op::PointerToInt,
        "inttoptr" => Op::IntToPointer,
        "spacecast" => Op::SpaceCast { checked: words.flag("checked") },
        "construct" => Op::Construct,
        "extract" => Op::Extract(words.number()?),
        "insert" => Op::Insert(words.number()?),
        "extractdynamic" => Op::ExtractDynamic,
        "insertdynamic" => Op::InsertDynamic,
        "shuffle" => {
            let mut lanes = Vec::new();
            while let Some(lane) = words.word() {
                lanes.push(if lane == "_" { None } else { Some(lane.parse().ok()?) });
            }
            Op::Shuffle(ShuffleMask::new(&lanes)?)
        }
        "undefined" => Op::Undefined,
        "object" => Op::ObjectAddress(words.object()?),
        "program" => Op::ProgramAddress(
            words.number::<u32>().filter(|number| *number < u32::MAX).map(ProgramObject::from_u32)?,
        ),
        "address" => Op::Address(Address {
            stride: words.number()?,
            offset: words.number()?,
            count: if words.flag("count") { Some(words.number()?) } else { None },
            in_bounds: words.flag("inbounds"),
        }),
        "load" => Op::Load(words.access()?),
        "store" => Op::Store(words.access()?),
        "copy" => Op::Copy(words.access()?),
        "start" => Op::LifetimeStart(words.object()?),
        "end" => Op::LifetimeEnd(words.object()?),
        "atomic" => Op::Atomic(Atomic {
            op: AtomicOp::named(words.word()?)?,
            scope: words.scope()?,
            semantics: words.semantics()?,
        }),
        "barrier" => {
            Op::Barrier { execution: words.scope()?, memory: words.scope()?, semantics: words.semantics()? }
        }
        "fence" => Op::Fence { scope: words.scope()?, semantics: words.semantics()? },
        "asynccopy" => Op::AsyncCopy { scope: words.scope()?, bytes: words.number()?, used: words.number()? },
        "waitevents" => Op::WaitEvents { scope: words.scope()? },
        "waitcopies" => Op::WaitCopies { scope: words.scope()? },
        "group" => Op::Group(words.group()?),
        "dot" => Op::Dot(Dot {
            a_signed: words.signed()?,
            b_signed: words.signed()?,
            accumulate: words.flag("sat"),
        }),
        "query" => {
            let kind = QueryKind::named(words.word()?)?;
            Op::Query(Query { kind, dimension: if kind.has_dimension() { words.number()? } else { 0 } })
        }
        "imagesample" => Op::ImageSample(Level::named(words.word()?)?),
        "imageread" => Op::ImageRead { level: words.flag("lod") },
        "imagewrite" => Op::ImageWrite { level: words.flag("lod") },
        "imagequery" => Op::ImageQuery(ImageFact::named(words.word()?)?),
        "printf" => Op::Printf(words.number()?),
        "call" => Op::Builtin(Builtin::named(words.word()?)?),
        plain => {
            if let Some(op) = Unary::named(plain) {
                Op::Unary(op)
            } else if let Some(op) = Binary::named(plain) {
                Op::Binary(op)
            } else {
                Op::Compare(Compare::named(plain)?)
            }
        }
    })
}
