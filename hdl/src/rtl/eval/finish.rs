//! From steps to a program: what reaches no output goes, and rows are used again when nothing reads them any more.

use super::{Builder, Made, Program, Rows, Step};
use crate::rtl::expr::{Expr, Leaf};

impl<L: Leaf> Builder<L> {
    /// The program that computes `outputs` from the inputs.
    pub fn finish(mut self, outputs: &[Expr<L>]) -> Program {
        let outputs: Vec<Rows> = outputs.iter().map(|e| self.value(e)).collect();
        let inputs = self.inputs as usize;
        // What reaches an output, and the last step that reads each row.
        let mut last: Vec<Option<usize>> = vec![None; inputs + self.made.len()];
        outputs.iter().flat_map(|o| &o.rows).for_each(|r| last[*r as usize] = Some(usize::MAX));
        for (k, made) in self.made.iter().enumerate().rev() {
            if let (Some(_), Made::Step(s)) = (last[inputs + k], made) {
                for r in s.reads() {
                    last[r as usize] = last[r as usize].or(Some(k));
                }
            }
        }
        // Inputs and constants keep their rows; those of steps are used again.
        let mut place: Vec<u32> = (0..last.len() as u32).collect();
        let mut p = Program {
            words: Vec::new(),
            steps: Vec::new(),
            rows: self.inputs,
            inputs,
            outputs: Vec::new(),
            tables: self.tables,
        };
        for (k, made) in self.made.iter().enumerate().filter(|(k, _)| last[inputs + k].is_some()) {
            if let Made::Word(word) = made {
                place[inputs + k] = p.rows;
                p.words.push((p.rows, *word));
                p.rows += 1;
            }
        }
        let mut free: Vec<u32> = Vec::new();
        for (k, made) in self.made.iter().enumerate().filter(|(k, _)| last[inputs + k].is_some()) {
            let Made::Step(s) = made else { continue };
            let reads = s.reads();
            let step = Step { a: place[s.a as usize], b: place[s.b as usize], c: place[s.c as usize], ..*s };
            // A step's own row is none that it reads.
            let row = free.pop().unwrap_or_else(|| {
                p.rows += 1;
                p.rows - 1
            });
            place[inputs + k] = row;
            p.steps.push((row, step));
            let mut done: Vec<u32> = reads
                .into_iter()
                .filter(|r| last[*r as usize] == Some(k) && *r as usize >= inputs)
                .filter(|r| matches!(self.made[*r as usize - inputs], Made::Step(_)))
                .collect();
            done.sort_unstable();
            done.dedup();
            free.extend(done.into_iter().map(|r| place[r as usize]));
        }
        p.outputs = outputs.iter().map(|o| o.rows.iter().map(|r| place[*r as usize]).collect()).collect();
        p
    }
}
