//! Differences at least cost: minimise a weighted sum of integers x under constraints `x[to] - x[from] >= length`.
//!
//! The dual is a flow of most length through the constraints, in which each node sends what its weight lacks. It is solved by the
//! network simplex method over strongly feasible trees (Ahuja, Magnanti & Orlin, Network Flows, chapter 11), whose
//! tree potentials are the x. Node 0 is the ground, `x[0] = 0`, and the root of the tree.

/// A constraint `x[to] - x[from] >= length`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arc {
    pub from: usize,
    pub to: usize,
    pub length: i64,
}

/// A problem in which every x lies between bounds.
#[derive(Clone, Default, Debug)]
pub struct Problem {
    /// Weight of each x in the sum to be minimised; that of the ground does not matter.
    pub weight: Vec<i64>,
    /// Bounds of each x, implied by the arcs or not; `None` above only where the weight is positive.
    pub bounds: Vec<(i64, Option<i64>)>,
    pub arcs: Vec<Arc>,
}

/// The x, and the least sum as the flow proves it. Where the work was given up, the x do not meet all constraints, and
/// the flow proves that no sum is less.
pub struct Solution {
    pub x: Vec<i64>,
    pub cost: i64,
    pub solved: bool,
}

impl Problem {
    /// The ground alone.
    pub fn new() -> Problem {
        Problem { weight: vec![0], bounds: vec![(0, Some(0))], arcs: Vec::new() }
    }

    /// A new x between bounds.
    pub fn variable(&mut self, least: i64, most: Option<i64>) -> usize {
        self.weight.push(0);
        self.bounds.push((least, most));
        self.weight.len() - 1
    }

    /// Demands `x[to] - x[from] >= length`.
    pub fn constrain(&mut self, from: usize, to: usize, length: i64) {
        self.arcs.push(Arc { from, to, length });
    }

    /// Solves it. The bounds must leave a solution.
    pub fn solve(&self) -> Solution {
        self.solve_within(u64::MAX)
    }

    /// Solves it, or gives up after about `steps` visits of arcs and nodes, so that the outcome is the same on every machine.
    pub fn solve_within(&self, steps: u64) -> Solution {
        let mut tree = Tree::new(self);
        let mut at = 0;
        let mut solved = true;
        while let Some(arc) = tree.entering(&mut at) {
            if tree.steps > steps {
                solved = false;
                break;
            }
            tree.pivot(arc);
        }
        let cost = tree.arcs.iter().zip(&tree.flow).map(|(a, f)| a.length * f).sum();
        Solution { x: tree.x, cost, solved }
    }
}

const NONE: usize = usize::MAX;

/// A spanning tree with its flow and potentials.
struct Tree {
    arcs: Vec<Arc>,
    /// Flow of each arc; not 0 on tree arcs only.
    flow: Vec<i64>,
    x: Vec<i64>,
    parent: Vec<usize>,
    /// The arc between a node and its parent.
    up: Vec<usize>,
    depth: Vec<u32>,
    child: Vec<usize>,
    next: Vec<usize>,
    previous: Vec<usize>,
    stack: Vec<usize>,
    /// Arcs and nodes that have been visited.
    steps: u64,
}

impl Tree {
    /// The star around the ground: the bounds are its arcs.
    fn new(p: &Problem) -> Tree {
        let n = p.weight.len();
        let mut t = Tree {
            arcs: p.arcs.clone(),
            flow: vec![0; p.arcs.len()],
            x: vec![0; n],
            parent: vec![NONE; n],
            up: vec![NONE; n],
            depth: vec![0; n],
            child: vec![NONE; n],
            next: vec![NONE; n],
            previous: vec![NONE; n],
            stack: Vec::new(),
            steps: 0,
        };
        for v in 1..n {
            let (least, most) = p.bounds[v];
            let below = Arc { from: 0, to: v, length: least };
            let above = most.map(|most| Arc { from: v, to: 0, length: -most });
            // An arc without flow must point to the root, else the tree is not strongly feasible.
            let (first, second) = match above {
                Some(above) if p.weight[v] <= 0 => (above, Some(below)),
                _ => (below, above),
            };
            t.up[v] = t.arcs.len();
            t.x[v] = if first.to == v { least } else { -first.length };
            t.arcs.push(first);
            t.flow.push(p.weight[v].abs());
            t.arcs.extend(second);
            t.flow.resize(t.arcs.len(), 0);
            t.link(v, 0);
            t.depth[v] = 1;
        }
        t
    }

    /// How far an arc's constraint is from being met.
    fn violation(&self, a: &Arc) -> i64 {
        a.length - (self.x[a.to] - self.x[a.from])
    }

    /// The worst violated arc of the first block, from `at` on, that has any.
    fn entering(&mut self, at: &mut usize) -> Option<usize> {
        let m = self.arcs.len();
        let block = (m as f64).sqrt() as usize + 16;
        let (mut best, mut worst, mut left) = (None, 0, block);
        for k in 0..m {
            let e = if *at + k >= m { *at + k - m } else { *at + k };
            let v = self.violation(&self.arcs[e]);
            if v > worst {
                (best, worst) = (Some(e), v);
            }
            left -= 1;
            if left == 0 {
                self.steps += block as u64;
                if best.is_some() {
                    *at = (e + 1) % m;
                    return best;
                }
                left = block;
            }
        }
        best
    }

    /// Brings an arc into the tree, and the arc that blocks its flow out of it.
    fn pivot(&mut self, entering: usize) {
        let Arc { from: i, to: j, .. } = self.arcs[entering];
        let apex = self.apex(i, j);
        // The flow runs apex -> i -> j -> apex. Of equally tight arcs the last one on this way leaves: that keeps the
        // tree strongly feasible, so the method cannot cycle.
        let (mut amount, mut leaving, mut leaves_at_i) = (i64::MAX, NONE, false);
        let mut v = i;
        while v != apex {
            if self.arcs[self.up[v]].from == v && self.flow[self.up[v]] < amount {
                (amount, leaving, leaves_at_i) = (self.flow[self.up[v]], v, true);
            }
            v = self.parent[v];
        }
        v = j;
        while v != apex {
            if self.arcs[self.up[v]].to == v && self.flow[self.up[v]] <= amount {
                (amount, leaving, leaves_at_i) = (self.flow[self.up[v]], v, false);
            }
            v = self.parent[v];
        }
        assert!(leaving != NONE, "bounds and arcs leave a solution");
        if amount > 0 {
            self.push(i, j, apex, amount);
        }
        self.flow[entering] += amount;
        let gap = self.violation(&self.arcs[entering]);
        let (inside, outside, shift) = if leaves_at_i { (i, j, -gap) } else { (j, i, gap) };
        self.move_subtree(leaving, inside, outside, entering, shift);
    }

    fn apex(&mut self, mut a: usize, mut b: usize) -> usize {
        while a != b {
            self.steps += 1;
            if self.depth[a] >= self.depth[b] {
                a = self.parent[a];
            } else {
                b = self.parent[b];
            }
        }
        a
    }

    /// Sends `amount` down to `i` and up from `j`.
    fn push(&mut self, i: usize, j: usize, apex: usize, amount: i64) {
        for (start, sign) in [(i, -1), (j, 1)] {
            let mut v = start;
            while v != apex {
                let e = self.up[v];
                self.flow[e] += if self.arcs[e].from == v { sign * amount } else { -sign * amount };
                v = self.parent[v];
            }
        }
    }

    /// Cuts the subtree at `top` off and hangs it by `inside` under `outside`, its x shifted.
    fn move_subtree(&mut self, top: usize, inside: usize, outside: usize, arc: usize, shift: i64) {
        let (mut v, mut above, mut by) = (inside, outside, arc);
        loop {
            let (old_parent, old_arc) = (self.parent[v], self.up[v]);
            self.unlink(v);
            self.link(v, above);
            self.up[v] = by;
            if v == top {
                break;
            }
            (above, by, v) = (v, old_arc, old_parent);
        }
        self.stack.push(inside);
        while let Some(v) = self.stack.pop() {
            self.steps += 1;
            self.x[v] += shift;
            self.depth[v] = self.depth[self.parent[v]] + 1;
            let mut c = self.child[v];
            while c != NONE {
                self.stack.push(c);
                c = self.next[c];
            }
        }
    }

    fn link(&mut self, v: usize, parent: usize) {
        let first = self.child[parent];
        self.parent[v] = parent;
        self.next[v] = first;
        self.previous[v] = NONE;
        if first != NONE {
            self.previous[first] = v;
        }
        self.child[parent] = v;
    }

    fn unlink(&mut self, v: usize) {
        let (before, after) = (self.previous[v], self.next[v]);
        match before {
            NONE => self.child[self.parent[v]] = after,
            _ => self.next[before] = after,
        }
        if after != NONE {
            self.previous[after] = before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_solution_meets_its_constraints_and_the_flow_proves_it_least() {
        // Two chains that meet: the narrow value should wait, not the wide one.
        let mut p = Problem::new();
        let wide = p.variable(0, Some(10));
        let narrow = p.variable(0, Some(10));
        let meet = p.variable(7, Some(10));
        p.constrain(wide, meet, 2);
        p.constrain(narrow, meet, 3);
        p.constrain(wide, narrow, 1);
        p.weight = vec![0, -20, 5, 10];
        let s = p.solve();
        // Starting the wide one later always pays, until the meeting may move no further.
        assert_eq!(s.x, [0, 6, 7, 10]);
        for a in &p.arcs {
            assert!(s.x[a.to] - s.x[a.from] >= a.length);
        }
        assert_eq!(s.cost, p.weight.iter().zip(&s.x).map(|(w, x)| w * x).sum::<i64>());
        // What is given up at once has a bound too.
        let given_up = p.solve_within(0);
        assert!(s.solved && !given_up.solved && given_up.cost <= s.cost);
    }
}
