//! The functions of a process: those in use, and the last ones that were, so that an editor does not fit a kernel's functions
//! anew at every key, and does not keep those of all texts that it has seen.

use super::Function;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock, Weak};

/// Functions that are kept although nothing uses them.
const KEPT: usize = 64;

#[derive(Default)]
struct Recent {
    known: HashMap<String, Weak<Function>>,
    /// Each once, the last one asked for at the end.
    last: VecDeque<Arc<Function>>,
    /// The length of `known` at which those that are gone are dropped from it.
    most: usize,
}

impl Recent {
    /// The function of a text, and what is no longer kept, for the caller to drop.
    fn get(&mut self, text: &str, make: impl FnOnce() -> Function) -> (Arc<Function>, Option<Arc<Function>>) {
        let function = match self.known.get(text).and_then(Weak::upgrade) {
            Some(function) => {
                self.last.retain(|f| !Arc::ptr_eq(f, &function));
                function
            }
            None => {
                let function = Arc::new(make());
                self.known.insert(text.into(), Arc::downgrade(&function));
                function
            }
        };
        self.last.push_back(function.clone());
        let old = if self.last.len() > KEPT { self.last.pop_front() } else { None };
        if self.known.len() > self.most {
            self.known.retain(|_, f| f.strong_count() > 0);
            self.most = 2 * self.known.len() + KEPT;
        }
        (function, old)
    }
}

pub(super) fn function(text: &str, make: impl FnOnce() -> Function) -> Arc<Function> {
    static ALL: OnceLock<Mutex<Recent>> = OnceLock::new();
    let all = ALL.get_or_init(Mutex::default);
    // What is dropped is dropped without the lock.
    let (function, _old) = all.lock().expect("no holder of the lock panics").get(text, make);
    function
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::number::exact::Exact;
    use crate::number::real::{Expr, Node};

    fn new_function() -> Function {
        let mut expr = Expr::default();
        expr.push(Node::X);
        Function::made(expr, Exact::default(), Exact::from_float(1.0).unwrap(), "x on 0..1".into())
    }

    #[test]
    fn functions_that_nothing_uses_are_dropped_in_time() {
        let mut recent = Recent::default();
        let of = |recent: &mut Recent, k: usize| recent.get(&k.to_string(), new_function).0;
        let used = of(&mut recent, 0);
        let first = Arc::downgrade(&of(&mut recent, 1));
        (2..1000).for_each(|k| drop(of(&mut recent, k)));
        assert!(first.upgrade().is_none() && recent.last.len() == KEPT && recent.known.len() < 4 * KEPT);
        assert!(Arc::ptr_eq(&used, &of(&mut recent, 0)), "there is one of each that is in use");
        let last = Arc::downgrade(&of(&mut recent, 999));
        assert!(last.upgrade().is_some() && recent.last.len() == KEPT, "the last ones are there");
    }
}
