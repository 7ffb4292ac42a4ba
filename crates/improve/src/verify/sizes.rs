//! How the numbers of a launch follow from its sizes, so that it can be made smaller.
//!
//! Nothing tells what an argument means. An argument that is as large as a global size is taken for that size, a buffer
//! with as many elements as a product of sizes for an array of them. A guess that is wrong does no harm: a launch counts
//! only if the original kernel runs on it without a finding.

use tripipe_launch::ImageExtent;
use tripipe_launch_file::{Given, LaunchFile, Memory, MemoryShape, Number};

use crate::host::ranging;

/// Numbers up to this one are not taken for sizes, such as a radius or a number of channels.
const SMALL: usize = 8;

/// The largest border around a size.
const BORDER: isize = 16;

/// The most elements for each position.
const TIMES: usize = 64;

/// A number that follows from sizes: the product of `factors` and `times`, plus `plus`, divided by `by` and rounded up,
/// then rounded up to a multiple.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Follows {
    /// The index of a size, and the border that is added to it.
    factors: Vec<(usize, isize)>,
    times: usize,
    plus: isize,
    by: usize,
    multiple: usize,
}

impl Follows {
    fn new(factors: &[(usize, isize)]) -> Self {
        Self { factors: factors.to_vec(), times: 1, plus: 0, by: 1, multiple: 1 }
    }

    /// The number for other sizes, at least 1.
    fn evaluate(&self, sizes: &[usize]) -> usize {
        let all = self.factors.iter().fold(self.times as isize, |all, (size, border)| {
            all.saturating_mul(sizes[*size] as isize + border)
        });
        let all = all.saturating_add(self.plus).max(1) as usize;
        all.div_ceil(self.by).next_multiple_of(self.multiple)
    }
}

/// What a number of a launch follows from; `None` if it stays as it is.
type Rule = Option<Follows>;

/// The sizes of a launch, and the numbers that follow from them.
#[derive(Debug)]
pub(super) struct Sizes {
    /// The sizes: logical extents, such as the width of a picture. No two are equal.
    pub(super) values: Vec<usize>,
    /// How often each size counts in the work: a square product of matrices has one size, and three loops of it.
    powers: Vec<i32>,
    global: [Rule; 3],
    /// Of each argument: its value, the elements of its buffer, or the sides of its image.
    arguments: Vec<Vec<Rule>>,
    defines: Vec<Rule>,
}

impl Sizes {
    /// The sizes of a launch.
    pub(super) fn of(launch: &LaunchFile) -> Self {
        let integers: Vec<usize> =
            launch.arguments.iter().filter_map(|entry| integer(&entry.given)).collect();
        let defined: Vec<usize> =
            launch.options.defines.iter().filter_map(|(_, value)| value.parse().ok()).collect();
        let named: Vec<usize> =
            integers.iter().chain(&defined).copied().filter(|size| *size > SMALL).collect();
        let mut sizes = Self {
            values: Vec::new(),
            powers: Vec::new(),
            global: [const { None }; 3],
            arguments: Vec::new(),
            defines: Vec::new(),
        };
        for dimension in 0..launch.range.dimensions() {
            let extent = launch.range.global_size()[dimension];
            if extent > SMALL {
                sizes.global[dimension] = Some(sizes.axis(extent, dimension, launch, &named));
            }
        }
        // What else is large and no function of those is a size of its own, such as the depth of a product.
        for number in named.into_iter().chain(launch.arguments.iter().flat_map(|entry| sides(&entry.given))) {
            if number > SMALL && sizes.number(number).is_none() {
                sizes.values.push(number);
            }
        }
        sizes.arguments = launch.arguments.iter().map(|entry| sizes.rules(&entry.given)).collect();
        let defines = launch.options.defines.iter();
        sizes.defines = defines.map(|(_, value)| sizes.number(value.parse().ok()?)).collect();
        let names = |size: usize, rule: &Rule| {
            rule.as_ref().is_some_and(|follows| follows.factors.iter().any(|(factor, _)| *factor == size))
        };
        let values = launch.arguments.iter().zip(&sizes.arguments);
        let values: Vec<&Rule> = values
            .filter(|(entry, _)| integer(&entry.given).is_some())
            .flat_map(|(_, rules)| rules)
            .collect();
        let power = |size: usize| {
            let named = values.iter().filter(|rule| names(size, rule)).count();
            named.max(sizes.global.iter().filter(|rule| names(size, rule)).count()).clamp(1, 3) as i32
        };
        sizes.powers = (0..sizes.values.len()).map(power).collect();
        sizes
    }

    /// A bound of the work of a launch with these sizes, in units that are the same for all sizes of a launch.
    pub(super) fn work(&self, sizes: &[usize]) -> f64 {
        sizes.iter().zip(&self.powers).map(|(size, power)| (*size as f64).powi(*power)).product()
    }

    /// The size that a dimension of the launch follows from.
    fn axis(&mut self, extent: usize, dimension: usize, launch: &LaunchFile, named: &[usize]) -> Follows {
        let local = launch.range.local_size().map_or(1, |local| local[dimension]);
        let mut found = (extent, 1, 1);
        if !named.contains(&extent) {
            let multiples = [local, 8, 16, 32, 64, 128, 256];
            let rounded = named.iter().find_map(|size| {
                let multiple =
                    multiples.iter().find(|multiple| size.next_multiple_of(**multiple) == extent)?;
                Some((*size, 1, *multiple))
            });
            let divided = || {
                (2..=16).find_map(|by| {
                    let size = named.iter().find(|size| size.div_ceil(by) == extent)?;
                    Some((*size, by, 1))
                })
            };
            if let Some(better) = rounded.or_else(divided) {
                found = better;
            }
        }
        let (size, by, multiple) = found;
        let index = self.values.iter().position(|known| *known == size).unwrap_or_else(|| {
            self.values.push(size);
            self.values.len() - 1
        });
        // Work-groups that are full stay full.
        let multiple = if multiple == 1 && extent.is_multiple_of(local) { local } else { multiple };
        Follows { by, multiple, ..Follows::new(&[(index, 0)]) }
    }

    /// What a number follows from: a size, or one with a border, a multiple or a part of one.
    fn number(&self, value: usize) -> Rule {
        if value <= SMALL {
            return None;
        }
        let all = || self.values.iter().enumerate();
        let one = |size: usize| Follows::new(&[(size, 0)]);
        let same = all().find(|(_, size)| **size == value).map(|(size, _)| one(size));
        let border = || {
            (1..=BORDER).flat_map(|border| [border, -border]).find_map(|border| {
                let (size, _) = all().find(|(_, size)| **size as isize + border == value as isize)?;
                Some(Follows::new(&[(size, border)]))
            })
        };
        let times = || {
            let (size, of) =
                all().find(|(_, size)| value.is_multiple_of(**size) && value / **size <= TIMES)?;
            Some(Follows { times: value / of, ..one(size) })
        };
        let part = || {
            (2..=16).find_map(|by| {
                let (size, _) = all().find(|(_, size)| size.div_ceil(by) == value)?;
                Some(Follows { by, ..one(size) })
            })
        };
        same.or_else(border).or_else(times).or_else(part)
    }

    /// What a number of elements follows from: a product of sizes.
    fn count(&self, value: usize) -> Rule {
        let indices = || 0..self.values.len();
        let mut products: Vec<Vec<usize>> = indices().map(|a| vec![a]).collect();
        products.extend(indices().flat_map(|a| (a..self.values.len()).map(move |b| vec![a, b])));
        let triples = indices().flat_map(|a| {
            indices().skip(a).flat_map(move |b| (b..self.values.len()).map(move |c| vec![a, b, c]))
        });
        products.extend(triples);
        let size = |product: &Vec<usize>| {
            product.iter().fold(1usize, |all, index| all.saturating_mul(self.values[*index]))
        };
        let plain =
            |product: &[usize]| Follows::new(&product.iter().map(|size| (*size, 0)).collect::<Vec<_>>());
        // The fewest elements for each position.
        let exact = products.iter().filter(|product| value.is_multiple_of(size(product)));
        let exact = exact.min_by_key(|product| (value / size(product), product.len()));
        if let Some(product) = exact.filter(|product| value / size(product) <= TIMES) {
            return Some(Follows { times: value / size(product), ..plain(product) });
        }
        // An array with a border.
        for [a, b] in products.iter().filter_map(|product| <[usize; 2]>::try_from(product.as_slice()).ok()) {
            for times in 1..=4 {
                for border_a in -BORDER..=BORDER {
                    for border_b in -BORDER..=BORDER {
                        let (wide, high) =
                            (self.values[a] as isize + border_a, self.values[b] as isize + border_b);
                        if wide > 0
                            && high > 0
                            && (wide * high).saturating_mul(times as isize) == value as isize
                        {
                            return Some(Follows { times, ..Follows::new(&[(a, border_a), (b, border_b)]) });
                        }
                    }
                }
            }
        }
        // An array with something behind it.
        let most = TIMES as isize;
        products.iter().find_map(|product| {
            let times = (value / size(product)).clamp(1, 4);
            let plus = value as isize - size(product).saturating_mul(times) as isize;
            (plus.abs() <= most).then(|| Follows { times, plus, ..plain(product) })
        })
    }

    /// The rules of an argument.
    fn rules(&self, given: &Given) -> Vec<Rule> {
        match given {
            Given::Memory(Memory { shape: MemoryShape::Buffer { extents: Some(extents), .. }, .. }) => {
                vec![self.count(extents.iter().product())]
            }
            Given::Value { .. } => integer(given).map(|number| self.number(number)).into_iter().collect(),
            _ => sides(given).into_iter().map(|side| self.number(side)).collect(),
        }
    }

    /// The launch with other sizes.
    pub(super) fn apply(&self, launch: &LaunchFile, sizes: &[usize]) -> LaunchFile {
        let mut launch = launch.clone();
        let range = launch.range;
        let mut global = range.global_size();
        for (extent, rule) in global.iter_mut().zip(&self.global) {
            *extent = evaluate(rule, sizes, *extent);
        }
        launch.range = ranging(range.dimensions(), global, range.global_offset(), range.local_size());
        for ((_, value), rule) in launch.options.defines.iter_mut().zip(&self.defines) {
            if let Some(follows) = rule {
                *value = follows.evaluate(sizes).to_string();
            }
        }
        for (entry, rules) in launch.arguments.iter_mut().zip(&self.arguments) {
            match (&mut entry.given, &rules[..]) {
                (Given::Value { numbers, .. }, [Some(follows)]) => {
                    numbers.fill(Number::Integer(follows.evaluate(sizes) as i128));
                }
                (Given::Memory(memory), rules) => match &mut memory.shape {
                    MemoryShape::Buffer { extents: Some(extents), .. } => {
                        if let [Some(follows)] = rules {
                            *extents = vec![follows.evaluate(sizes)];
                        }
                    }
                    MemoryShape::Image { extent: Some(extent), .. } => {
                        let mut sides = rules.iter();
                        let mut side = |side: &mut usize| {
                            *side = evaluate(sides.next().unwrap_or(&None), sizes, *side);
                        };
                        each_side(extent, &mut side);
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        launch
    }
}

fn evaluate(rule: &Rule, sizes: &[usize], otherwise: usize) -> usize {
    rule.as_ref().map_or(otherwise, |follows| follows.evaluate(sizes))
}

/// The value of an integer argument.
fn integer(given: &Given) -> Option<usize> {
    match given {
        Given::Value { numbers, .. } => match numbers[..] {
            [Number::Integer(number)] => usize::try_from(number).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The sides of an image of known size.
fn sides(given: &Given) -> Vec<usize> {
    let mut all = Vec::new();
    if let Given::Memory(Memory { shape: MemoryShape::Image { extent: Some(extent), .. }, .. }) = given {
        each_side(&mut extent.clone(), &mut |side| all.push(*side));
    }
    all
}

fn each_side(extent: &mut ImageExtent, change: &mut dyn FnMut(&mut usize)) {
    match extent {
        ImageExtent::D1 { width } | ImageExtent::Buffer { width } | ImageExtent::D1Array { width, .. } => {
            change(width);
        }
        ImageExtent::D2 { width, height } | ImageExtent::D2Array { width, height, .. } => {
            change(width);
            change(height);
        }
        ImageExtent::D3 { width, height, depth } => {
            change(width);
            change(height);
            change(depth);
        }
    }
}

/// Sizes that find mistakes: one, odd ones, primes, and multiples of what tiles and vectors divide by.
const SMALL_SIZES: [[usize; 3]; 14] = [
    [1, 1, 1],
    [2, 3, 1],
    [5, 7, 3],
    [16, 16, 16],
    [17, 33, 9],
    [64, 32, 16],
    [70, 69, 5],
    [31, 1, 2],
    [1, 37, 4],
    [4, 8, 4],
    [12, 20, 8],
    [48, 16, 32],
    [33, 64, 17],
    [15, 13, 11],
];

/// The work of the given launch when it is scaled down: the product of its sizes.
const WORK: f64 = 30_000.0;

/// The work of the largest generated launch: a square of 64 by 64 pixels with 16 channels has less.
const MOST_WORK: f64 = 100_000.0;

impl Sizes {
    /// Sizes to try, that of the launch scaled down first.
    pub(super) fn to_try(&self) -> Vec<Vec<usize>> {
        let powers: i32 = self.powers.iter().sum();
        let factor = (WORK / self.work(&self.values)).powf(1.0 / f64::from(powers.max(1))).min(1.0);
        // Remainders stay, so that what the launch fulfils is still fulfilled.
        let scaled = self.values.iter().map(|size| {
            let less = (*size as f64 * factor) as usize;
            if less >= *size { *size } else { (less - less % 16 + size % 16).max(1) }
        });
        let small = SMALL_SIZES.iter().map(|row| {
            self.limited((0..self.values.len()).map(|index| row[index % 3] + (index / 3) * 3).collect())
        });
        std::iter::once(scaled.collect()).chain(small).collect()
    }

    /// Sizes of which the largest are halved while they are too much work together; their remainders by 8 stay.
    fn limited(&self, mut sizes: Vec<usize>) -> Vec<usize> {
        while self.work(&sizes) > MOST_WORK {
            let counted = sizes.iter_mut().zip(&self.powers).filter(|(_, power)| **power > 0);
            let Some((size, _)) = counted.max_by_key(|(size, _)| **size) else { break };
            let half = *size / 2;
            let less = half - half % 8 + *size % 8;
            if less >= *size {
                break;
            }
            *size = less;
        }
        sizes
    }
}

/// Sizes for arguments that are equal in the launch: none is the largest each time, and the last are multiples of 8.
const UNEQUAL: [[usize; 4]; 3] = [[7, 12, 5, 9], [6, 5, 13, 8], [16, 8, 24, 32]];

/// The most equal arguments that are told apart.
const EQUAL: usize = 4;

impl Sizes {
    /// Launches in which arguments differ that are equal in the given one: nothing tells which of them the work-items of
    /// a dimension follow, so there is one launch for each possibility. Buffers have room for the largest.
    pub(super) fn unequal(&self, launch: &LaunchFile) -> Vec<LaunchFile> {
        let mut launches = Vec::new();
        for (size, value) in self.values.iter().enumerate() {
            let values = launch.arguments.iter().map(|entry| integer(&entry.given));
            let equal: Vec<usize> =
                values.enumerate().filter(|(_, number)| *number == Some(*value)).map(|(at, _)| at).collect();
            if !(2..=EQUAL).contains(&equal.len()) {
                continue;
            }
            let follows = |rule: &Rule| rule.as_ref().is_some_and(|it| it.factors == [(size, 0)]);
            let axes: Vec<usize> = (0..3).filter(|dimension| follows(&self.global[*dimension])).collect();
            for numbers in UNEQUAL {
                let mut sizes: Vec<usize> = (0..self.values.len()).map(|other| 6 + other).collect();
                sizes[size] = numbers[..equal.len()].iter().copied().max().unwrap_or(1);
                let largest = self.apply(launch, &sizes);
                // Each way to choose an argument for each dimension.
                for way in 0..equal.len().pow(axes.len() as u32) {
                    let mut other = largest.clone();
                    for (position, number) in equal.iter().zip(numbers) {
                        if let Given::Value { numbers, .. } = &mut other.arguments[*position].given {
                            numbers.fill(Number::Integer(number as i128));
                        }
                    }
                    let mut global = other.range.global_size();
                    for (place, dimension) in axes.iter().enumerate() {
                        sizes[size] = numbers[way / equal.len().pow(place as u32) % equal.len()];
                        global[*dimension] = evaluate(&self.global[*dimension], &sizes, 1);
                    }
                    let range = other.range;
                    other.range =
                        ranging(range.dimensions(), global, range.global_offset(), range.local_size());
                    launches.push(other);
                }
            }
        }
        launches
    }
}

/// The launch with fewer and with more work-items in a dimension, of the same arguments: a part of the outputs, and more
/// work-items than outputs.
pub(super) fn parts(launch: &LaunchFile) -> Vec<LaunchFile> {
    let range = launch.range;
    let mut launches = Vec::new();
    for dimension in 0..range.dimensions() {
        let extent = range.global_size()[dimension];
        let step = range.local_size().map_or(1, |local| local[dimension]);
        for resized in [extent.saturating_sub(step), extent.saturating_sub(2 * step), extent + 3 * step] {
            if resized > 0 {
                let mut global = range.global_size();
                global[dimension] = resized;
                let mut part = launch.clone();
                part.range = ranging(range.dimensions(), global, range.global_offset(), range.local_size());
                launches.push(part);
            }
        }
    }
    launches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(text: &str) -> LaunchFile {
        tripipe_launch_file::parse(text, "test").unwrap()
    }

    /// Written down by hand for a picture with three channels, launched in full work-groups.
    #[test]
    fn a_picture_scales_with_its_launch() {
        let launch = launch(
            "source = 'a.cl'\nglobal = [1936, 1080]\nlocal = [16, 4]\n\
             [[argument]]\nbuffer = 'uchar'\ncount = 6224040\n\
             [[argument]]\nbuffer = 'float'\ncount = 2080686\n\
             [[argument]]\nvalue = 1921\n[[argument]]\nvalue = 1080\n[[argument]]\nvalue = 3\n",
        );
        let sizes = Sizes::of(&launch);
        assert_eq!(sizes.values, [1921, 1080]);
        let small = sizes.apply(&launch, &[33, 7]);
        assert_eq!(small.range.global_size(), [48, 8, 1]);
        let count = |index: usize| match &small.arguments[index].given {
            Given::Memory(Memory { shape: MemoryShape::Buffer { extents, .. }, .. }) => {
                extents.clone().unwrap()
            }
            _ => Vec::new(),
        };
        assert_eq!([count(0), count(1)], [[33 * 7 * 3], [35 * 9]]);
        let numbers: Vec<Option<usize>> = small.arguments.iter().map(|entry| integer(&entry.given)).collect();
        assert_eq!(numbers, [None, None, Some(33), Some(7), Some(3)]);
    }

    /// The product of an m x k and a k x n matrix.
    #[test]
    fn the_depth_of_a_product_is_a_size_of_its_own() {
        let launch = launch(
            "source = 'a.cl'\nglobal = [200, 100]\n\
             [[argument]]\nbuffer = 'float'\ncount = 29000\n\
             [[argument]]\nbuffer = 'float'\ncount = 58000\n\
             [[argument]]\nbuffer = 'float'\ncount = 20000\n\
             [[argument]]\nvalue = 290\n",
        );
        let sizes = Sizes::of(&launch);
        assert_eq!(sizes.values, [200, 100, 290]);
        let small = sizes.apply(&launch, &[5, 7, 3]);
        let count = |index: usize| match &small.arguments[index].given {
            Given::Memory(Memory { shape: MemoryShape::Buffer { extents, .. }, .. }) => {
                extents.clone().unwrap()
            }
            _ => Vec::new(),
        };
        assert_eq!([count(0), count(1), count(2)], [[21], [15], [35]]);
        assert_eq!(integer(&small.arguments[3].given), Some(3));
    }
}
