//! Parallel loops whose recursion is compiled once.
//!
//! The iterators are those of rayon, and so are the threads. But what rayon makes of the end of a chain, of `for_each` or `collect`,
//! is some forty functions for each loop, which were a third of the functions of this crate and a quarter of the time that its
//! release build took. Here the end of a chain is one function that calls itself through [`both`], the only place where work is
//! handed to another thread. Files with parallel loops take this [`prelude`] in place of rayon's and read the same.

use rayon::iter::plumbing::{Producer, ProducerCallback};
use rayon::iter::{Chain, Copied, IndexedParallelIterator, IntoParallelIterator, Map, MapInit, ParallelIterator};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};
use std::mem::MaybeUninit;

/// Runs `f` on one of the threads that work is shared out to: in the pool of the caller, else in the global one. On any other thread each
/// loop would be handed over and waited for, and a thread that has waited starts late: small problems took up to a fifth longer so.
pub fn on_a_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    rayon::join(f, || ()).0
}

/// The imports of a file with parallel loops.
pub mod prelude {
    pub use super::Loop;
    pub use rayon::iter::{
        IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator,
    };
    pub use rayon::slice::{ParallelSlice, ParallelSliceMut};
}

/// The ends of a chain, and what comes before them. All do what rayon's methods of these names do.
pub trait Loop: IndexedParallelIterator {
    fn map<R: Send, F: Fn(Self::Item) -> R + Sync + Send>(self, f: F) -> Map<Self, F> {
        ParallelIterator::map(self, f)
    }

    fn map_init<S, R: Send, I, F>(self, init: I, f: F) -> MapInit<Self, I, F>
    where
        I: Fn() -> S + Sync + Send,
        F: Fn(&mut S, Self::Item) -> R + Sync + Send,
    {
        ParallelIterator::map_init(self, init, f)
    }

    fn copied<'a, T: Copy + Send + Sync + 'a>(self) -> Copied<Self>
    where
        Self: ParallelIterator<Item = &'a T>,
    {
        ParallelIterator::copied(self)
    }

    fn chain<C: IntoParallelIterator<Item = Self::Item>>(self, then: C) -> Chain<Self, C::Iter> {
        ParallelIterator::chain(self, then)
    }

    fn filter<F: Fn(&Self::Item) -> bool + Sync>(
        self,
        f: F,
    ) -> Flat<Self, impl Fn(Self::Item) -> Option<Self::Item> + Sync> {
        Loop::flat_map_iter(self, move |item| f(&item).then_some(item))
    }

    /// Flattens the items; those that `f` makes of one item are gone through by one thread.
    fn flat_map_iter<R: IntoIterator, F: Fn(Self::Item) -> R + Sync>(self, f: F) -> Flat<Self, F> {
        Flat { items: self, f }
    }

    fn for_each<F: Fn(Self::Item) + Sync>(self, f: F) {
        end(self, Each(f));
    }

    /// `init` is called once for each part that one thread takes.
    fn for_each_init<S, I: Fn() -> S + Sync, F: Fn(&mut S, Self::Item) + Sync>(self, init: I, f: F) {
        end(self, EachInit(init, f));
    }

    fn reduce<I, F>(self, none: I, f: F) -> Self::Item
    where
        I: Fn() -> Self::Item + Sync,
        F: Fn(Self::Item, Self::Item) -> Self::Item + Sync,
    {
        end(self, Fold(none, &f, &f))
    }

    /// Rayon's `fold` and `reduce`: `fold` takes the items of a part in, and what it made of two parts is merged.
    fn fold_reduce<S: Send, I, F, M>(self, none: I, fold: F, merge: M) -> S
    where
        I: Fn() -> S + Sync,
        F: Fn(S, Self::Item) -> S + Sync,
        M: Fn(S, S) -> S + Sync,
    {
        end(self, Fold(none, fold, merge))
    }

    fn collect<C: FromLoop<Self::Item>>(self) -> C {
        C::from_loop(self)
    }

    /// Appends the items in their order.
    fn extend_into(self, all: &mut Vec<Self::Item>) {
        let (before, count) = (all.len(), self.len());
        all.reserve(count);
        let room = all.spare_capacity_mut()[..count].into_par_iter();
        let written = end(self.zip(room), Write);
        assert_eq!(written, count, "a loop has as many items as it said");
        // SAFETY: each place is of one item alone, and as many as there are places were written.
        unsafe { all.set_len(before + count) };
    }
}

impl<I: IndexedParallelIterator> Loop for I {}

/// A collection that the items of a loop can be collected into, in their order.
pub trait FromLoop<T> {
    fn from_loop(items: impl IndexedParallelIterator<Item = T>) -> Self;
}

impl<T: Send> FromLoop<T> for Vec<T> {
    fn from_loop(items: impl IndexedParallelIterator<Item = T>) -> Vec<T> {
        let mut all = Vec::with_capacity(items.len());
        items.extend_into(&mut all);
        all
    }
}

impl<T: Send, E: Send> FromLoop<Result<T, E>> for Result<Vec<T>, E> {
    /// All items are made. The error is the first one in the order of the items.
    fn from_loop(items: impl IndexedParallelIterator<Item = Result<T, E>>) -> Self {
        Vec::from_loop(items).into_iter().collect()
    }
}

impl<K: Eq + Hash + Send, V: Send, S: BuildHasher + Default> FromLoop<(K, V)> for HashMap<K, V, S> {
    fn from_loop(items: impl IndexedParallelIterator<Item = (K, V)>) -> Self {
        Vec::from_loop(items).into_iter().collect()
    }
}

/// A loop that has any number of items for each of another one.
pub struct Flat<I, F> {
    items: I,
    f: F,
}

impl<I: IndexedParallelIterator, R: IntoIterator<Item: Send>, F: Fn(I::Item) -> R + Sync> Flat<I, F> {
    pub fn for_each<G: Fn(R::Item) + Sync>(self, g: G) {
        let Flat { items, f } = self;
        end(items, Each(|item| f(item).into_iter().for_each(&g)));
    }

    /// `init` is called once for each part that one thread takes.
    pub fn for_each_init<S, J: Fn() -> S + Sync, G: Fn(&mut S, R::Item) + Sync>(self, init: J, g: G) {
        let Flat { items, f } = self;
        end(items, EachInit(init, |state: &mut S, item| f(item).into_iter().for_each(|item| g(state, item))));
    }

    /// The items in their order.
    pub fn collect(self) -> Vec<R::Item> {
        self.collect_init(|| (), |(), item| item)
    }

    /// Collects the values of `g` for the items, in their order. `init` is called once for each part that one thread takes.
    pub fn collect_init<S, T: Send, J: Fn() -> S + Sync, G: Fn(&mut S, R::Item) -> T + Sync>(
        self,
        init: J,
        g: G,
    ) -> Vec<T> {
        let Flat { items, f } = self;
        let mut parts = end(items, Append(f, init, g));
        let mut all = parts.remove(0);
        all.reserve(parts.iter().map(Vec::len).sum());
        parts.iter_mut().for_each(|part| all.append(part));
        all
    }
}

/// The end of a loop: the operation on the items of a part, and the merge of the results of two parts.
trait End<T>: Sync {
    type Out: Send;

    fn part(&self, items: impl Iterator<Item = T>) -> Self::Out;

    fn merge(&self, first: Self::Out, second: Self::Out) -> Self::Out;
}

struct Each<F>(F);

impl<T, F: Fn(T) + Sync> End<T> for Each<F> {
    type Out = ();

    fn part(&self, items: impl Iterator<Item = T>) {
        items.for_each(&self.0);
    }

    fn merge(&self, (): (), (): ()) {}
}

struct EachInit<I, F>(I, F);

impl<T, S, I: Fn() -> S + Sync, F: Fn(&mut S, T) + Sync> End<T> for EachInit<I, F> {
    type Out = ();

    fn part(&self, items: impl Iterator<Item = T>) {
        let mut state = self.0();
        items.for_each(|item| self.1(&mut state, item));
    }

    fn merge(&self, (): (), (): ()) {}
}

struct Fold<I, F, M>(I, F, M);

impl<T, S: Send, I: Fn() -> S + Sync, F: Fn(S, T) -> S + Sync, M: Fn(S, S) -> S + Sync> End<T> for Fold<I, F, M> {
    type Out = S;

    fn part(&self, items: impl Iterator<Item = T>) -> S {
        items.fold(self.0(), &self.1)
    }

    fn merge(&self, first: S, second: S) -> S {
        self.2(first, second)
    }
}

/// Items into their places, counted.
struct Write;

impl<'a, T> End<(T, &'a mut MaybeUninit<T>)> for Write {
    type Out = usize;

    fn part(&self, items: impl Iterator<Item = (T, &'a mut MaybeUninit<T>)>) -> usize {
        let mut count = 0;
        for (item, place) in items {
            place.write(item);
            count += 1;
        }
        count
    }

    fn merge(&self, first: usize, second: usize) -> usize {
        first + second
    }
}

/// Items of [`Flat`], a list for each part.
struct Append<F, I, G>(F, I, G);

impl<T, R: IntoIterator, S, U: Send, F, I, G> End<T> for Append<F, I, G>
where
    F: Fn(T) -> R + Sync,
    I: Fn() -> S + Sync,
    G: Fn(&mut S, R::Item) -> U + Sync,
{
    type Out = Vec<Vec<U>>;

    fn part(&self, items: impl Iterator<Item = T>) -> Vec<Vec<U>> {
        let mut state = self.1();
        vec![items.flat_map(&self.0).map(|item| self.2(&mut state, item)).collect()]
    }

    fn merge(&self, mut first: Vec<Vec<U>>, mut second: Vec<Vec<U>>) -> Vec<Vec<U>> {
        first.append(&mut second);
        first
    }
}

fn end<I: IndexedParallelIterator, E: End<I::Item>>(items: I, end: E) -> E::Out {
    let count = items.len();
    items.with_producer(Parts { count, end })
}

struct Parts<E> {
    count: usize,
    end: E,
}

impl<T, E: End<T>> ProducerCallback<T> for Parts<E> {
    type Output = E::Out;

    fn callback<P: Producer<Item = T>>(self, items: P) -> E::Out {
        let threads = rayon::current_num_threads();
        // At least so many parts that none has more items than the chain allows.
        let halvings = threads.max(self.count / items.max_len().max(1));
        divide(items, self.count, halvings, false, &self.end)
    }
}

/// Runs `count` items in two halves, and these as well, as often as `halvings` allows. A part that another thread has taken is
/// divided further: there are threads without work.
fn divide<P: Producer, E: End<P::Item>>(items: P, count: usize, halvings: usize, is_taken: bool, end: &E) -> E::Out {
    let half = count / 2;
    if half < items.min_len().max(1) || halvings == 0 && !is_taken {
        return end.part(items.into_iter());
    }
    let halvings = if is_taken { (halvings / 2).max(rayon::current_num_threads()) } else { halvings / 2 };
    let (first, second) = items.split_at(half);
    let (mut first, mut second) = (Some(first), Some(second));
    let (mut left, mut right) = (None, None);
    both(&mut |taken| left = first.take().map(|items| divide(items, half, halvings, taken, end)), &mut |taken| {
        right = second.take().map(|items| divide(items, count - half, halvings, taken, end))
    });
    match (left, right) {
        (Some(left), Some(right)) => end.merge(left, right),
        _ => unreachable!("both were run"),
    }
}

/// Runs both, perhaps at once. Each is given whether another thread has taken it.
fn both(first: &mut (dyn FnMut(bool) + Send), second: &mut (dyn FnMut(bool) + Send)) {
    rayon::join_context(|context| first(context.migrated()), |context| second(context.migrated()));
}
