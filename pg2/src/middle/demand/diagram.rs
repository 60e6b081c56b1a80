//! Functions of conditions as binary decision diagrams: a function has one diagram, so equal ones are found at once.
//!
//! Bryant, "Graph-Based Algorithms for Boolean Function Manipulation", IEEE Transactions on Computers 35(8), 1986.

use hdl::hash::{FastMap, FastSet};

/// A function: an index into the choices behind the two constants.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Function(u32);

pub(super) const FALSE: Function = Function(0);
pub(super) const TRUE: Function = Function(1);

/// `then` if the condition of that number holds, else `otherwise`. Conditions of higher numbers are asked first: inner
/// multiplexers have them, so that the demand inside a branch is made of the demand around it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Choice {
    pub condition: u32,
    pub then: Function,
    pub otherwise: Function,
}

/// All functions in use.
#[derive(Default)]
pub(super) struct Diagrams {
    choices: Vec<Choice>,
    known: FastMap<Choice, Function>,
    /// Results of `either`.
    done: FastMap<[Function; 3], Function>,
}

impl Diagrams {
    /// The choice at the top of a function that is not constant.
    pub fn choice(&self, function: Function) -> Choice {
        self.choices[function.0 as usize - 2]
    }

    /// Whether a condition holds.
    pub fn variable(&mut self, condition: u32) -> Function {
        self.make(Choice { condition, then: TRUE, otherwise: FALSE })
    }

    pub fn not(&mut self, f: Function) -> Function {
        self.either(f, FALSE, TRUE)
    }

    pub fn and(&mut self, f: Function, g: Function) -> Function {
        self.either(f, g, FALSE)
    }

    pub fn or(&mut self, f: Function, g: Function) -> Function {
        self.either(f, TRUE, g)
    }

    /// The number of choices of a function, counted until it is more than `most`.
    pub fn size(&self, function: Function, most: usize) -> usize {
        let mut seen = FastSet::default();
        let mut todo = vec![function];
        while let Some(f) = todo.pop().filter(|_| seen.len() <= most) {
            if f > TRUE && seen.insert(f) {
                let choice = self.choice(f);
                todo.extend([choice.then, choice.otherwise]);
            }
        }
        seen.len()
    }

    fn make(&mut self, choice: Choice) -> Function {
        if choice.then == choice.otherwise {
            return choice.then;
        }
        let next = Function(self.choices.len() as u32 + 2);
        let function = *self.known.entry(choice).or_insert(next);
        if function == next {
            self.choices.push(choice);
        }
        function
    }

    /// `g` where `f` holds, else `h`.
    fn either(&mut self, f: Function, g: Function, h: Function) -> Function {
        match (f, g, h) {
            (TRUE, _, _) => return g,
            (FALSE, _, _) => return h,
            (_, TRUE, FALSE) => return f,
            _ if g == h => return g,
            _ => {}
        }
        if let Some(known) = self.done.get(&[f, g, h]) {
            return *known;
        }
        let tops = [f, g, h].into_iter().filter(|x| *x > TRUE).map(|x| self.choice(x).condition);
        let condition = tops.max().expect("the first of them is not constant");
        let arms = |x: Function| match x {
            FALSE | TRUE => (x, x),
            _ => match self.choice(x) {
                Choice { condition: c, then, otherwise } if c == condition => (then, otherwise),
                _ => (x, x),
            },
        };
        let (f_arms, g_arms, h_arms) = (arms(f), arms(g), arms(h));
        let then = self.either(f_arms.0, g_arms.0, h_arms.0);
        let otherwise = self.either(f_arms.1, g_arms.1, h_arms.1);
        let result = self.make(Choice { condition, then, otherwise });
        self.done.insert([f, g, h], result);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_functions_have_one_diagram() {
        let mut d = Diagrams::default();
        let [a, b, c] = [0, 1, 2].map(|n| d.variable(n));
        let (not_a, not_b) = (d.not(a), d.not(b));
        // What every branch of `if a .. else if b .. else ..` reads is read always.
        let (second, third) = (d.and(not_a, b), d.and(not_a, not_b));
        let branches = d.or(a, third);
        assert_eq!(d.or(branches, second), TRUE);
        let ab = d.and(a, b);
        assert_eq!(d.or(a, ab), a);
        assert_eq!(d.and(not_a, ab), FALSE);
        let (left, right) = (d.and(ab, c), d.and(b, c));
        assert_eq!(d.and(a, right), left);
        assert_eq!(d.size(left, 32), 3);
        assert_eq!(d.size(left, 1), 2);
    }
}
