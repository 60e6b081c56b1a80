//! Rust's operators on expressions: `!`, `&`, `|`, `^`, `+` and `-`.

use super::{Binary, Expr, Leaf, Node};

impl<L: Leaf> std::ops::Not for &Expr<L> {
    type Output = Expr<L>;

    /// Every bit turned.
    fn not(self) -> Expr<L> {
        match self.node() {
            Node::Const(bits) => Expr::new(self.width(), Node::Const(bits.not())),
            _ => Expr::new(self.width(), Node::Not(self.clone())),
        }
    }
}

impl<L: Leaf> std::ops::Not for Expr<L> {
    type Output = Expr<L>;

    fn not(self) -> Expr<L> {
        !&self
    }
}

/// An operator of two expressions, by value or by reference.
macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl<L: Leaf> std::ops::$trait<&Expr<L>> for &Expr<L> {
            type Output = Expr<L>;

            fn $method(self, other: &Expr<L>) -> Expr<L> {
                Expr::binary(operator!(@ $trait), self, other)
            }
        }
        impl<L: Leaf> std::ops::$trait<Expr<L>> for &Expr<L> {
            type Output = Expr<L>;

            fn $method(self, other: Expr<L>) -> Expr<L> {
                Expr::binary(operator!(@ $trait), self, &other)
            }
        }
        impl<L: Leaf> std::ops::$trait<&Expr<L>> for Expr<L> {
            type Output = Expr<L>;

            fn $method(self, other: &Expr<L>) -> Expr<L> {
                Expr::binary(operator!(@ $trait), &self, other)
            }
        }
        impl<L: Leaf> std::ops::$trait<Expr<L>> for Expr<L> {
            type Output = Expr<L>;

            fn $method(self, other: Expr<L>) -> Expr<L> {
                Expr::binary(operator!(@ $trait), &self, &other)
            }
        }
    };
    (@ BitAnd) => { Binary::And };
    (@ BitOr) => { Binary::Or };
    (@ BitXor) => { Binary::Xor };
    (@ Add) => { Binary::Add };
    (@ Sub) => { Binary::Sub };
}

operator!(BitAnd, bitand);
operator!(BitOr, bitor);
operator!(BitXor, bitxor);
operator!(Add, add);
operator!(Sub, sub);
