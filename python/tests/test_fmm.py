"""The FMM in space beside sums over all pairs in NumPy."""

import pickle
import unittest

import numpy as np

import pairforge
from pairforge import InputError, Plan, UsageError, fmm


def particles(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)), rng.random(n) - 0.5


def sums(x, q, at=None):
    """Potential and gradient, in the plainest way."""
    at = x if at is None else at
    d = x[None, :, :] - at[:, None, :]
    r = np.sqrt((d**2).sum(-1))
    with np.errstate(divide="ignore"):
        inverse = np.where(r > 0, 1 / r, 0)
    return inverse @ q, np.einsum("ij,ijk->ik", inverse**3 * q, d)


def error(found, right):
    return np.linalg.norm(found - right) / np.linalg.norm(right)


class Values(unittest.TestCase):
    def test_potential_and_gradient_are_those_of_the_sum(self):
        x, q = particles(1500)
        right = sums(x, q)
        for tol in (1e-3, 1e-6, 1e-9):
            found = fmm(x, q, tol)
            self.assertLessEqual(error(found.gradient, right[1]), tol)
            self.assertLessEqual(error(found.potential, right[0]), tol)
        self.assertEqual((found.potential.shape, found.gradient.shape), ((1500,), (1500, 3)))
        self.assertTrue(found.gradient.T.flags.c_contiguous)
        self.assertTrue(found.gradient.flags.writeable)
        self.assertEqual(found.stats["n"], 1500)

    def test_the_direct_sum_is_that_of_numpy(self):
        x, q = particles(300)
        found, right = pairforge.direct(x, q), sums(x, q)
        self.assertLess(error(found.potential, right[0]), 1e-14)
        self.assertLess(error(found.gradient, right[1]), 1e-14)

    def test_second_derivatives_and_dipoles_are_differences(self):
        x, q = particles(200)
        at, p, h = np.array([[0.1, 1.7, 0.2]]), np.random.default_rng(3).random((200, 3)), 1e-5
        found = fmm(x, q, 1e-9, targets=at, hessian=True)
        order = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        for k, (a, b) in enumerate(order):
            step = h * np.eye(3)[b]
            slope = (sums(x, q, at + step)[1] - sums(x, q, at - step)[1])[0, a] / (2 * h)
            self.assertAlmostEqual(found.hessian[0, k], slope, delta=1e-6 * abs(slope) + 1e-6)
        # A dipole is the difference of two charges.
        shifted = [sums(x + sign * h * p, np.full(200, sign / (2 * h)), at)[0] for sign in (1, -1)]
        dipoles = fmm(x, dipoles=p, tol=1e-9, targets=at)
        self.assertAlmostEqual(dipoles.potential[0], sum(shifted)[0], delta=1e-6 * abs(dipoles.potential[0]))
        both = fmm(x, q, 1e-9, targets=at, dipoles=p)
        self.assertAlmostEqual(both.potential[0], dipoles.potential[0] + found.potential[0], delta=1e-6)

    def test_a_periodic_box_is_an_ewald_sum(self):
        x, q = particles(300)
        q -= q.mean()
        for periodic in (1.0, (1.0, "xy")):
            found, right = fmm(x, q, 1e-5, periodic=periodic), pairforge.direct(x, q, periodic=periodic)
            self.assertLessEqual(error(found.gradient, right.gradient), 1e-5)

    def test_softening_and_kernels_of_pg2(self):
        x, q = particles(400)
        found, right = fmm(x, q, 1e-5, eps=0.1), pairforge.direct(x, q, eps=0.1)
        self.assertLessEqual(error(found.gradient, right.gradient), 1e-5)
        yukawa = fmm(x, q, 1e-4, kernel="p2p_yukawa", params={"kappa": 2.0})
        d = x[None] - x[:, None]
        r = np.sqrt((d**2).sum(-1)) + np.eye(400)
        kernel = np.exp(-2 * r) / r * (1 - np.eye(400))
        self.assertLess(error(yukawa.potential, kernel @ q), 1e-3)


class Layouts(unittest.TestCase):
    def test_every_layout_gives_the_same_bits(self):
        x, q = particles(500)
        right = fmm(x, q, 1e-6)
        wide = np.zeros((1000, 7))
        wide[::2, 1:6:2] = x
        for name, other in {
            "rows in order of columns": np.asfortranarray(x),
            "columns": np.ascontiguousarray(x.T),
            "strided": wide[::2, 1:6:2],
            "backwards": x[::-1].copy()[::-1],
            "a list": x.tolist(),
        }.items():
            with self.subTest(name):
                self.assertTrue((fmm(other, q, 1e-6).gradient == right.gradient).all())
        self.assertTrue((fmm(x, np.repeat(q, 2)[::2], 1e-6).potential == right.potential).all())

    def test_float32_and_integers_are_taken_exactly(self):
        x, q = particles(500)
        x32, q32 = x.astype(np.float32), q.astype(np.float32)
        a, b = fmm(x32, q32, 1e-6), fmm(x32.astype(np.float64), q32.astype(np.float64), 1e-6)
        self.assertTrue((a.gradient == b.gradient).all())
        corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [3, 0, 1]])
        self.assertAlmostEqual(fmm(corners, np.ones(4, int)).potential[0], 1 + 1 / 2 + 10**-0.5, places=6)

    def test_three_points_are_refused_unless_the_layout_is_said(self):
        x, q = particles(3)
        with self.assertRaisesRegex(InputError, "`x` has the shape \\(3, 3\\).*layout"):
            fmm(x, q)
        rows = fmm(x, q, layout="rows").potential
        self.assertTrue((fmm(np.ascontiguousarray(x.T), q, layout="columns").potential == rows).all())
        self.assertLess(error(rows, sums(x, q)[0]), 1e-6)

    def test_dlpack_and_other_arrays(self):
        class Exporter:
            """An array of another library, which has DLPack alone."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        x, q = particles(200)
        found = fmm(Exporter(x), Exporter(q), 1e-6)
        self.assertTrue((found.potential == fmm(x, q, 1e-6).potential).all())

    def test_an_array_on_a_gpu_needs_its_driver(self):
        class OnGpu:
            __cuda_array_interface__ = {"shape": (9, 3), "typestr": "<f8", "data": (0x7F0000000000, False), "version": 3}

        with self.assertRaisesRegex(pairforge.ToolError, "`x`"):
            fmm(OnGpu(), np.ones(9))


class Plans(unittest.TestCase):
    def test_a_plan_serves_many_charges_and_moves(self):
        x, q = particles(800)
        plan = Plan(x, tol=1e-6)
        first = plan.run(q)
        self.assertTrue((plan.run(q).gradient == first.gradient).all())
        many = plan.run(np.stack([q, 2 * q, 0 * q]))
        self.assertEqual((many.potential.shape, many.gradient.shape), ((3, 800), (3, 800, 3)))
        self.assertTrue((many.potential[1] == 2 * first.potential).all() and not many.potential[2].any())
        moved, charges = particles(600, seed=2)
        plan.update(moved)
        self.assertLessEqual(error(plan.run(charges).gradient, sums(moved, charges)[1]), 2e-6)

    def test_few_pairs_are_summed_directly_and_many_are_not(self):
        for n, bound in ((1000, 1e-14), (4000, 1e-3)):
            x, q = particles(n)
            found, right = fmm(x, q, 1e-3), pairforge.direct(x, q)
            self.assertLessEqual(error(found.gradient, right.gradient), bound)
            self.assertEqual(found.stats["pairs"]["m2l"] == 0, n == 1000)

    def test_targets_and_sources_in_one_run(self):
        x, q = particles(400)
        at = np.random.default_rng(5).random((50, 3)) * 2
        found = fmm(x, q, 1e-7, targets=at, at_sources=True, hessian=True)
        self.assertLess(error(found.potential, sums(x, q, at)[0]), 1e-6)
        self.assertLess(error(found.at_sources.gradient, sums(x, q)[1]), 1e-6)
        self.assertEqual((found.hessian.shape, found.at_sources.hessian.shape), ((50, 6), (400, 6)))

    def test_results_can_be_left_out_and_kept(self):
        x, q = particles(100)
        result = fmm(x, q, gradient=False)
        self.assertIsNone(result.gradient)
        self.assertIsNone(result.hessian)
        again = pickle.loads(pickle.dumps(result))
        self.assertTrue((again.potential == result.potential).all())
        self.assertEqual(again.stats["n"], 100)

    def test_empty_input_gives_empty_results(self):
        nothing = fmm(np.empty((0, 3)), np.empty(0))
        self.assertEqual((nothing.potential.shape, nothing.gradient.shape), ((0,), (0, 3)))
        self.assertEqual(fmm(np.ones((4, 3)), np.ones(4), targets=np.empty((0, 3))).potential.shape, (0,))
        self.assertTrue((fmm(np.empty((0, 3)), np.empty(0), targets=np.ones((2, 3))).potential == 0).all())
        self.assertEqual(Plan(np.ones((4, 3))).run(np.empty((0, 4))).potential.shape, (0, 4))

    def test_results_go_where_the_caller_wants_them(self):
        x, q = particles(100)
        right = fmm(x, q)
        potential, gradient = np.empty(100), np.empty((100, 3))
        result = Plan(x).run(q, out=(potential, gradient))
        self.assertIs(result.potential, potential)
        self.assertTrue((gradient == right.gradient).all())
        frozen = np.empty(100)
        frozen.flags.writeable = False
        both = np.empty(400)
        wrong = {
            "read-only": {"potential": frozen},
            "float64": {"potential": np.empty(100, np.float32)},
            "the shape": {"potential": np.empty(99)},
            "overlaps `out` for": {"potential": both[:100], "gradient": both[50:350].reshape(100, 3)},
            "overlaps `q`": {"potential": q},
            "in one place": {"potential": np.lib.stride_tricks.as_strided(np.empty(1), (100,), (0,))},
            "`hessian`": {"hessian": np.empty((100, 6))},
        }
        for text, out in wrong.items():
            with self.subTest(text), self.assertRaisesRegex(InputError, text):
                Plan(x).run(q, out=out)

    def test_progress_is_reported_and_may_end_a_run(self):
        x, q = particles(2000)
        steps = []
        Plan(x, order=4).run(q, progress=lambda *step: steps.append(step))
        self.assertIn("P2P", [step[0] for step in steps])

        def stop(stage, done, of):
            raise RuntimeError("enough")

        plan = Plan(x, order=4)
        with self.assertRaisesRegex(RuntimeError, "enough"):
            plan.run(q, progress=stop)
        self.assertEqual(plan.run(q).potential.shape, (2000,))


class Refusals(unittest.TestCase):
    def test_each_names_its_argument(self):
        x, q = particles(10)
        holes, poles = x.copy(), q.copy()
        holes[7, 2], poles[3] = np.nan, np.inf
        words = np.array(["a"] * 10)
        wrong = [
            (lambda: fmm(x[:, :2], q), "`x` has the shape \\(10, 2\\)"),
            (lambda: fmm(x[0], q), "`x` has the shape \\(3,\\)"),
            (lambda: fmm(np.ones((2, 3, 4)), q), "`x` has the shape"),
            (lambda: fmm(x, q[:9]), "`q` has the shape \\(9,\\).*10 sources"),
            (lambda: fmm(x, np.ones((2, 9))), "`q` has the shape"),
            (lambda: fmm(x, words), "`q` has values of the type"),
            (lambda: fmm(x, np.array([object()] * 10)), "`q` has values of the type"),
            (lambda: fmm(x + 0j, q), "`x` has complex numbers"),
            (lambda: fmm(x, q.astype(np.longdouble)), "`q` has values of the type"),
            (lambda: fmm([[1, 2, 3], [4, 5]], q), "`x` is no array of numbers"),
            (lambda: fmm(holes, q), "`x\\[7, 2\\]` is NaN"),
            (lambda: fmm(x, poles), "`q\\[3\\]` is inf"),
            (lambda: fmm(x, q, targets=holes), "`targets\\[7, 2\\]` is NaN"),
            (lambda: fmm(x, dipoles=np.ones((9, 3))), "`dipoles` has the shape"),
            (lambda: fmm(x, dipoles=np.ones((9, 3, 2))), "`dipoles` has the shape"),
            (lambda: fmm(x), "give charges `q`"),
            (lambda: fmm(np.broadcast_to(np.ones(3), (1 << 40, 3)), q), "`x` has 1099511627776 points"),
            (lambda: fmm(np.broadcast_to(np.ones(3), (2_000_000_000, 3)), q), "`x` has 2000000000 points"),
            (lambda: fmm(x, q, at_sources=True), "`at_sources`"),
            (lambda: fmm(x, q, periodic="large"), "`periodic`"),
            (lambda: fmm(x, q, periodic=(1.0, "w")), "`periodic`"),
            (lambda: Plan(x).update(x, x), "`targets`"),
            (lambda: Plan(x).run(q, progress=3), "`progress`"),
            (lambda: fmm(x, q, params={"a": 1}), "`params`"),
        ]
        for call, text in wrong:
            with self.subTest(text), self.assertRaisesRegex(InputError, text):
                call()

    def test_options_have_the_sentence_of_the_command(self):
        x, q = particles(10)
        wrong = [
            (dict(theta=0.7), "at most 0.5"),
            (dict(backend="gpu"), "cuda"),
            (dict(order=0), "order"),
            (dict(order=2.5), "`order`"),
            (dict(tol="small"), "`tol`"),
            (dict(precision="f16"), "`precision` is `f32`, `f64`"),
            (dict(tol=-1.0), "`tol` must be above 0"),
        ]
        for options, text in wrong:
            with self.subTest(text), self.assertRaisesRegex(UsageError, text):
                fmm(x, q, **options)
        self.assertTrue(issubclass(UsageError, pairforge.Error) and issubclass(UsageError, ValueError))
        with self.assertRaises(TypeError):
            fmm(x, q, tolerance=1)

    def test_read_only_input_is_taken(self):
        x, q = particles(50)
        right = fmm(x, q).potential
        x.flags.writeable = q.flags.writeable = False
        self.assertTrue((fmm(x, q).potential == right).all())


if __name__ == "__main__":
    unittest.main()
