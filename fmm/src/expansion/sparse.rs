//! Sparse linear operators on the terms of an expansion.

use crate::arith::lanes::Real;

/// `dst += coefficient * src`.
#[derive(Clone, Copy, Debug)]
pub struct Product<T> {
    pub dst: u32,
    pub src: u32,
    pub coefficient: T,
}

/// Adds the operator's result on `src` to `dst`.
pub fn apply<T: Real>(products: &[Product<f64>], src: &[T], dst: &mut [T]) {
    for p in products {
        dst[p.dst as usize] += T::of(p.coefficient) * src[p.src as usize];
    }
}

/// Coefficients in another format.
pub fn rounded<T: Real>(products: &[Product<f64>]) -> Vec<Product<T>> {
    products.iter().map(|p| Product { dst: p.dst, src: p.src, coefficient: T::of(p.coefficient) }).collect()
}

/// For each of `count` terms its factors in the potential and along the axes of the gradient, given what the gradient's terms
/// are made of.
pub fn with_slopes<T: Real>(terms: &[T], slopes: &[Vec<Product<T>>; 3], count: usize) -> Vec<[T; 4]> {
    let mut factors = vec![[T::default(); 4]; count];
    factors.iter_mut().zip(terms).for_each(|(f, term)| f[0] = *term);
    for (axis, slopes) in slopes.iter().enumerate() {
        for p in slopes {
            factors[p.dst as usize][axis + 1] += p.coefficient * terms[p.src as usize];
        }
    }
    factors
}
