//! M2L and P2P where they are to run, and their results in the user's units.

use super::offload::{self, Bound, Work};
use super::{Compute, FmmError, Plan, Precision, Progress};
use crate::arith::scale::ldexp;
use crate::data::Force;
use crate::data::particles::Field;
use crate::direct::p2p::{self, Near};
use crate::expansion::m2l;
use crate::tree::charges::Charges;
use rayon::prelude::*;

impl Plan {
    pub(super) fn m2l(
        &self,
        compute: &mut Compute,
        kernels: &Option<Bound>,
        charges: &Charges,
        m: &[f64],
        l: &mut [f64],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        if let (Compute::Kernels { backend, m2l: Some(graph), .. }, Some(Bound { m2l: Some(kernel), .. })) =
            (compute, kernels)
        {
            return offload::m2l(self, *backend, graph, kernel, m, l, progress);
        }
        let (tree, lists, e) = (&self.tree, &self.lists, &self.expansion);
        match self.options.precision {
            Precision::F32 if p2p::suit_f32(charges) => m2l::m2l::<f32>(tree, lists, e, self.near2, m, l),
            _ => m2l::m2l::<f64>(tree, lists, e, self.near2, m, l),
        }
        Ok(Work { streamed: self.streamed_m2l, ..Work::default() })
    }

    pub(super) fn p2p(
        &self,
        compute: &mut Compute,
        kernels: &Option<Bound>,
        charges: &Charges,
        force: &mut [Force],
        progress: &mut Progress,
    ) -> Result<Work, FmmError> {
        if let (Compute::Kernels { backend, p2p: graph, .. }, Some(kernels)) = (compute, kernels) {
            return offload::p2p(self, *backend, graph, kernels, charges, force, progress);
        }
        let near = Near::new(&self.tree, &self.lists, charges, self.options.eps);
        let again = match self.options.precision {
            Precision::F64 => near.all::<f64>(force),
            Precision::F32 => near.all::<f32>(force),
        };
        Ok(Work {
            streamed: self.pairs.p2p,
            recomputed: again.targets,
            close: again.pairs.div_ceil(2),
            wide: again.wide,
            has_gradient: true,
            ..Work::default()
        })
    }

    /// Back to the user's units and the order of the input. A result beyond the range of f64 is an error.
    pub(super) fn field(&self, force: &[Force], charges: &Charges, p2p: &Work) -> Result<Field, FmmError> {
        let n = self.tree.len();
        let map = &self.tree.map;
        let mut place = vec![0u32; n];
        self.tree.order.iter().enumerate().for_each(|(k, o)| place[*o as usize] = k as u32);
        let wide = |a: usize, boxed: f64| {
            let (value, exponent) = map.wide(a, boxed);
            (value, exponent + charges.exponent)
        };
        let in_users = |a: usize, boxed: f64| {
            let (value, exponent) = wide(a, boxed);
            ldexp(value, exponent)
        };
        let column = |a: usize| -> Vec<f64> {
            let mut column: Vec<f64> = place.par_iter().map(|k| in_users(a, force[*k as usize][a])).collect();
            for (k, sum) in &p2p.wide {
                let mut sum = sum[a];
                let (rest, exponent) = wide(a, force[*k][a]);
                sum.add(rest, exponent);
                column[self.tree.order[*k] as usize] = sum.to_f64();
            }
            column
        };
        let potential = column(0);
        let gradient = p2p.has_gradient.then(|| [column(1), column(2), column(3)]);
        for (name, column) in
            [("potential", &potential)].into_iter().chain(gradient.iter().flatten().map(|g| ("gradient", g)))
        {
            if let Some(k) = column.par_iter().position_first(|x| !x.is_finite()) {
                return Err(FmmError::Range(format!(
                    "the {name} at particle {k}, counted from 0, is beyond 1.8e308, the range of f64, since another \
                     particle is so close to it; give longer lengths or smaller charges, by taking other units"
                )));
            }
        }
        Ok(Field { potential, gradient })
    }
}
