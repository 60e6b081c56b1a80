"""The FMM in two dimensions beside sums over all pairs in NumPy, and the calls of other libraries."""

import unittest

import numpy as np

import pairforge
from pairforge import InputError, Plan2, direct2, fmm2
from pairforge.compat import fmm2d, fmm3d


def error(found, right):
    return np.linalg.norm(np.asarray(found) - right) / np.linalg.norm(right)


def points(n, d, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((d, n)), rng


def differences(x, at):
    """w = z - z_j for all pairs, with its inverse, which is 0 for pairs in one place."""
    z, s = at[0] + 1j * at[1], x[0] + 1j * x[1]
    w = z[:, None] - s[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        return w, np.where(w != 0, 1 / w, 0)


class Plane(unittest.TestCase):
    def test_both_kernels_are_those_of_the_sums(self):
        x, rng = points(900, 2)
        q = rng.random(900) - 0.5
        w, inverse = differences(x, x)
        right = np.log(np.abs(w) + (w == 0)) @ q
        slope = (inverse @ q).conj()
        for found in (fmm2(x, q, 1e-8), direct2(x, q)):
            self.assertLess(error(found.potential, right), 1e-7)
            self.assertLess(error(found.gradient @ [1, 1j], slope), 1e-8)
        strengths = q + 1j * rng.random(900)
        vortices = fmm2(x[0] + 1j * x[1], strengths, 1e-8, kernel="harmonic")
        self.assertLess(error(vortices.field, -inverse @ strengths), 1e-8)
        many = Plan2(x, 1e-8, kernel="harmonic").run(np.stack([strengths, q]))
        self.assertEqual(many.field.shape, (2, 900))

    def test_targets_and_moves(self):
        x, rng = points(300, 2)
        q, at = rng.random(300), rng.random((40, 2)) + 1
        plan = Plan2(x, 1e-9, at)
        for shift in (0, 0.25):
            plan.update(x + shift, at)
            right = direct2(x + shift, q, at)
            self.assertLess(error(plan.run(q).gradient, right.gradient), 1e-8)

    def test_wrong_input_is_refused_by_name(self):
        x, rng = points(30, 2)
        q = rng.random(30)
        for call, text in [
            (lambda: fmm2(x, q + 1j), "`q` is complex"),
            (lambda: fmm2(x[:1], q), "`x` has the shape"),
            (lambda: fmm2(x[:, :2], q[:2]), "`layout`|layout="),
            (lambda: fmm2(x, q, kernel="vortex"), "`kernel`"),
            (lambda: fmm2(x * np.nan, q), "`x\\[0, 0\\]` is NaN"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(InputError, text):
                call()


class OfOthers(unittest.TestCase):
    """Conventions that fmm3dpy 2.1.0 and fmm2dpy 0.0.5 were seen to have."""

    def test_in_space(self):
        x, rng = points(700, 3)
        q, v, at = rng.random(700), rng.random((3, 700)), rng.random((3, 60))
        d = at[:, :, None] - x[:, None, :]
        r = np.sqrt((d**2).sum(0))
        pot = ((q / r).sum(1) + (np.einsum("kij,kj->ij", d, v) / r**3).sum(1)) / (4 * np.pi)
        out = fmm3d.lfmm3d(eps=1e-6, sources=x, charges=q, dipvec=v, targets=at, pg=3, pgt=3)
        self.assertLess(error(out.pottarg, pot), 1e-6)
        shapes = [a.shape for a in (out.pot, out.grad, out.hess, out.pottarg, out.gradtarg, out.hesstarg)]
        self.assertEqual(shapes, [(700,), (3, 700), (6, 700), (60,), (3, 60), (6, 60)])
        # A potential without charges nearby: xx + yy + zz is 0, and the first three are these.
        self.assertLess(np.abs(out.hesstarg[:3].sum(0)).max(), 1e-4 * np.abs(out.hesstarg).max())
        exact = fmm3d.l3ddir(sources=x, targets=at, charges=q, dipvec=v, pgt=3)
        self.assertLess(fmm3d.comperr(ntest=60, out=out, outex=exact, pgt=3), 1e-6)
        sets = fmm3d.lfmm3d(eps=1e-6, sources=x, charges=np.stack([q, 2 * q]), pg=2, nd=2)
        self.assertEqual((sets.pot.shape, sets.grad.shape), ((2, 700), (2, 3, 700)))
        gradient = -(q / r**3 * d).sum(2) / (4 * np.pi)
        alone = fmm3d.lfmm3d(eps=1e-6, sources=x, charges=q, targets=at, pgt=2)
        self.assertLess(error(alone.gradtarg, gradient), 1e-6)
        self.assertIsNone(alone.pot)

    def test_in_the_plane(self):
        x, rng = points(500, 2)
        at = rng.random((2, 40))
        c, d = rng.random((2, 500)) + 1j * rng.random((2, 500))
        v = rng.random((2, 500))
        w, inverse = differences(x, at)
        log = np.log(np.abs(w))
        one = fmm2d.cfmm2d(eps=1e-7, sources=x, charges=c, dipstr=d, targets=at, pgt=3)
        for found, right in [
            (one.pottarg, log @ c + inverse @ d),
            (one.gradtarg, inverse @ c - inverse**2 @ d),
            (one.hesstarg, -(inverse**2) @ c + 2 * inverse**3 @ d),
        ]:
            self.assertLess(error(found, right), 1e-6)
        real = fmm2d.rfmm2d(eps=1e-7, sources=x, charges=c.real, dipstr=d.real, dipvec=v, targets=at, pg=2, pgt=2)
        towards = inverse @ (d.real * (v[0] + 1j * v[1]))
        self.assertLess(error(real.pottarg, log @ c.real - towards.real), 1e-6)
        slope = inverse @ c.real + inverse**2 @ (d.real * (v[0] + 1j * v[1]))
        self.assertLess(error(real.gradtarg, [slope.real, -slope.imag]), 1e-6)
        self.assertEqual((real.pot.shape, real.grad.shape), ((500,), (2, 500)))
        both = fmm2d.lfmm2d(eps=1e-7, sources=x, charges=c, dipstr=d, dipvec=v, targets=at, pgt=3)
        parts = [(inverse @ (part * (v[0] + 1j * v[1]))).real for part in (d.real, d.imag)]
        self.assertLess(error(both.pottarg, log @ c - parts[0] - 1j * parts[1]), 1e-6)
        exact = fmm2d.l2ddir(sources=x, targets=at, charges=c, dipstr=d, dipvec=v, pgt=3)
        self.assertLess(fmm2d.comperr(ntest=40, out=both, outex=exact, pgt=3), 1e-6)

    def test_derivatives_of_many_points_in_the_plane(self):
        x, rng = points(4000, 2)
        c, d = rng.random((2, 4000)) - 0.5 + 1j * rng.random((2, 4000))
        found = fmm2d.cfmm2d(eps=1e-6, sources=x, charges=c, dipstr=d, pg=3)
        exact = fmm2d.c2ddir(sources=x, targets=x, charges=c, dipstr=d, pgt=3)
        for name in ("pot", "grad", "hess"):
            off = error(getattr(found, name), getattr(exact, name + "targ"))
            # Expansions were made, and are near enough.
            self.assertTrue(0 < off < 1e-6, (name, off))

    def test_other_equations_say_so(self):
        for call in (fmm3d.hfmm3d, fmm3d.emfmm3d, fmm3d.st3ddir, fmm2d.hfmm2d, fmm2d.bhfmm2d, fmm2d.st2ddir):
            with self.assertRaisesRegex(NotImplementedError, "which Pairforge does not"):
                call(eps=1e-3, sources=None)
        with self.assertRaises(pairforge.InputError):
            fmm3d.lfmm3d(eps=1e-3, sources=np.ones((2, 9)), charges=np.ones(9), pg=1)


if __name__ == "__main__":
    unittest.main()
