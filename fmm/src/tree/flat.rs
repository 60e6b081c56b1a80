//! Lists of cells, one behind the other in one column.

use crate::parallel::prelude::*;
use std::mem::MaybeUninit;
use std::ops::Index;

/// A list for each cell, one behind the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flat<T> {
    /// Where each list begins, and where the last one ends.
    pub(super) starts: Vec<usize>,
    pub(super) items: Vec<T>,
}

impl<T> Default for Flat<T> {
    fn default() -> Flat<T> {
        Flat { starts: vec![0], items: Vec::new() }
    }
}

impl<T: Copy> Flat<T> {
    /// Whether all lists are empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All items, list by list.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The same, to be changed.
    pub fn items_mut(&mut self) -> &mut [T] {
        &mut self.items
    }

    /// Ends the list whose items were pushed last.
    pub(super) fn end(&mut self) {
        self.starts.push(self.items.len());
    }

    /// Appends others one after the other.
    pub(super) fn append(&mut self, others: &[&Flat<T>])
    where
        T: Send + Sync,
    {
        let [items, starts] = [0, 1].map(|k| others.iter().map(|f| [f.items.len(), f.starts.len() - 1][k]).sum());
        let mut end = self.items.len();
        self.items.reserve(items);
        self.starts.reserve(starts);
        let mut unwritten =
            (&mut self.items.spare_capacity_mut()[..items], &mut self.starts.spare_capacity_mut()[..starts]);
        let mut parts = Vec::with_capacity(others.len());
        for other in others {
            let items = unwritten.0.split_off_mut(..other.items.len()).expect("there is room for all");
            let starts = unwritten.1.split_off_mut(..other.starts.len() - 1).expect("there is room for all");
            parts.push((end, items, starts, other));
            end += other.items.len();
        }
        parts.into_par_iter().for_each(|(before, items, starts, other)| {
            items.iter_mut().zip(&other.items).for_each(|(to, item)| *to = MaybeUninit::new(*item));
            starts.iter_mut().zip(&other.starts[1..]).for_each(|(to, end)| *to = MaybeUninit::new(before + end));
        });
        // SAFETY: the parts are all of the capacity, and every place was written.
        unsafe {
            self.items.set_len(end);
            self.starts.set_len(self.starts.len() + starts);
        }
    }
}

impl<T> Index<usize> for Flat<T> {
    type Output = [T];

    fn index(&self, cell: usize) -> &[T] {
        &self.items[self.starts[cell]..self.starts[cell + 1]]
    }
}
