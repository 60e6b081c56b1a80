"""Arrays on a GPU: what is refused, and results there where there is a GPU."""

import unittest

import numpy as np

import pairforge
from pairforge import GpuPlan, InputError, ToolError, UsageError, _gpu, _pairforge


def libraries():
    """Modules with arrays on a GPU, where there is one."""
    found = []
    try:
        import cupy

        if cupy.cuda.runtime.getDeviceCount():
            found.append(("cupy", cupy.asarray, cupy.asnumpy, cupy.from_dlpack))
    except Exception:
        pass
    try:
        import torch

        if torch.cuda.is_available():
            found.append(("torch", lambda a: torch.from_numpy(a).cuda(), lambda t: t.cpu().numpy(), torch.from_dlpack))
    except Exception:
        pass
    return found


class OnGpu:
    """What claims to be an array on a GPU."""

    def __init__(self, shape, typestr="<f4", address=0x7F0000000000, read_only=False, **rest):
        interface = {"shape": shape, "typestr": typestr, "data": (address, read_only), "version": 3}
        self.__cuda_array_interface__ = {**interface, **rest}


class Refusals(unittest.TestCase):
    def refused(self, error, part, *arguments, **options):
        with self.assertRaises(error) as raised:
            GpuPlan(*arguments, **{"order": 4, **options})
        self.assertIn(part, str(raised.exception))

    def test_what_is_no_array_on_a_gpu_is_refused_by_its_name(self):
        good = OnGpu((9, 3))
        for x, part in [
            (np.zeros((9, 3)), "`x` is no array on a GPU"),
            ([[1.0, 2.0, 3.0]], "take `Plan` for arrays of the host"),
            (OnGpu((9, 3), "<i4"), "values of the type int32"),
            (OnGpu((9, 3), ">f4"), "values of the type >f4"),
            (OnGpu((9, 3), "<f2"), "give float32 or float64"),
            (OnGpu((9, 4)), "the shape (9, 4)"),
            (OnGpu((3, 3)), "say layout="),
            (OnGpu((9, 3), strides=(13, 4)), "no multiples of 4"),
            (OnGpu((9, 3), mask=good), "has a mask"),
            (OnGpu((9, 3), typestr="?"), "give float32 or float64"),
            (OnGpu("abc"), "does not follow its version 3"),
            (OnGpu((9, 3), address=0), "`x` is a null pointer"),
            (OnGpu((9, 3), address=0x7F0000000002), "no multiple of 4"),
            (OnGpu((2**62, 3)), "more than a memory holds"),
        ]:
            self.refused(InputError, part, x)
        self.refused(InputError, "`targets` is no array on a GPU", good, np.zeros((9, 3)))
        self.refused(InputError, "layout of 3 columns", good, layout="columns")
        self.refused(InputError, "`stream` is a CUDA stream", good, stream="fast")
        self.refused(InputError, "not -1", good, stream=-1)

    def test_options_that_need_the_host_are_refused_unless_it_is_allowed(self):
        good = OnGpu((9, 3))
        for option, part in [
            (dict(tol=1e-5), "`tol` is for data of the host"),
            (dict(check=10), "`check` compares with sums on the CPU"),
            (dict(kernel="gravity"), "the P2P kernel has no native form"),
        ]:
            self.refused(UsageError, part, good, **option)
            self.refused(UsageError, "allow data to go through the host", good, **option)

    def test_without_a_gpu_or_its_memory_one_sentence_says_so(self):
        with self.assertRaises((ToolError, InputError)) as raised:
            GpuPlan(OnGpu((9, 3)), order=4)
        self.assertRegex(str(raised.exception), "CUDA driver|finds no GPU|no address of memory")

    def test_results_go_where_they_fit(self):
        wanted = {"potential": (9,), "gradient": (9, 3)}
        for out, part in [
            ((np.zeros(9),), "`out for potential` is no array on a GPU"),
            (OnGpu((9,), read_only=True), "is read-only"),
            (OnGpu((8,)), "the shape (8,) where (9,) is needed"),
            ({"hessian": OnGpu((9, 6))}, "potential, gradient"),
            ({"gradient": OnGpu((9, 3), strides=(0, 4))}, "several elements in one place"),
            (OnGpu((9,), "<i8"), "values of the type int64"),
        ]:
            with self.assertRaises(InputError) as raised:
                _gpu.outputs(out, wanted)
            self.assertIn(part, str(raised.exception))
        found = _gpu.outputs({"gradient": OnGpu((9, 3), strides=(16, 4))}, wanted)
        self.assertEqual(found["gradient"].columns()[1], (0x7F0000000004, 9, 4, 4, None))

    def test_dlpack_describes_arrays_of_numpy(self):
        # On the host here; what a capsule says is the same.
        for array in (np.zeros((5, 3)), np.zeros((5, 3), np.float32)[::2], np.zeros((3, 7)).T):
            found = _gpu._of_capsule("x", array.__dlpack__())
            self.assertEqual((found.address, found.shape), (array.ctypes.data, array.shape))
            self.assertEqual(tuple(s * found.bytes for s in found.strides), array.strides)
        with self.assertRaisesRegex(InputError, "other numbers than float32"):
            _gpu._of_capsule("x", np.zeros(3, np.int64).__dlpack__())
        with self.assertRaisesRegex(InputError, "no capsule of DLPack"):
            _pairforge.dlpack_view(3)

    def test_streams_of_libraries_are_known(self):
        class Torch:
            cuda_stream = 77

        class Protocol:
            def __cuda_stream__(self):
                return (0, 78)

        self.assertEqual([_gpu.stream_of(s) for s in (None, 5, Torch(), Protocol())], [None, 5, 77, 78])


class OnADevice(unittest.TestCase):
    def setUp(self):
        self.libraries = libraries()
        if not self.libraries:
            self.skipTest("skipped: no CUDA device, or neither CuPy nor PyTorch")
        rng = np.random.default_rng(1)
        self.x, self.q = rng.random((4000, 3)), rng.random(4000)
        self.right = pairforge.direct(self.x, self.q)

    def near(self, found, right, tol):
        self.assertLess(np.linalg.norm(found - right) / np.linalg.norm(right), tol)

    def test_results_are_those_of_the_host_and_taken_by_other_libraries(self):
        for name, to_gpu, to_host, from_dlpack in self.libraries:
            with self.subTest(name):
                for dtype, precision in ((np.float32, "f32"), (np.float64, "f64")):
                    x, q = to_gpu(self.x.astype(dtype)), to_gpu(self.q.astype(dtype))
                    plan = GpuPlan(x, order=6, precision=precision)
                    found = plan.run(q)
                    self.near(found.gradient.numpy(), self.right.gradient, 1e-3)
                    self.near(to_host(from_dlpack(found.potential)), self.right.potential, 1e-4)
                    self.assertEqual(found.gradient.dtype, np.dtype(dtype))
                    self.assertEqual(found.gradient.shape, [4000, 3])
                    # Columns of a transposed array, strided charges, results in arrays of the caller's.
                    room = to_gpu(np.zeros((4000, 3), dtype)), to_gpu(np.zeros(4000, dtype))
                    wide = to_gpu(np.repeat(self.q, 2).astype(dtype))
                    plan.update(to_gpu(np.ascontiguousarray(self.x.T).astype(dtype)))
                    plan.run(wide[::2], out={"gradient": room[0], "potential": room[1]})
                    np.testing.assert_array_equal(to_host(room[0]), found.gradient.numpy())
                    np.testing.assert_array_equal(to_host(room[1]), found.potential.numpy())
                    several = plan.run(to_gpu(np.stack([self.q, 2 * self.q]).astype(dtype)))
                    np.testing.assert_array_equal(several.gradient.numpy()[1], 2 * found.gradient.numpy())

    def test_targets_apart_and_data_through_the_host(self):
        name, to_gpu, to_host, from_dlpack = self.libraries[0]
        at = np.random.default_rng(2).random((700, 3))
        right = pairforge.direct(self.x, self.q, targets=at)
        x, q, at = to_gpu(self.x), to_gpu(self.q), to_gpu(at)
        found = GpuPlan(x, at, order=8, precision="f64").run(q)
        self.near(found.gradient.numpy(), right.gradient, 1e-4)
        through = GpuPlan(x, at, tol=1e-6, through_host=True).run(q)
        self.near(through.gradient.numpy(), right.gradient, 1e-6)
        self.assertLessEqual(through.stats["error"]["gradient_rel_l2"], 1e-6)

    def test_second_derivatives_dipoles_and_kernels_stay_on_the_gpu(self):
        name, to_gpu, to_host, from_dlpack = self.libraries[0]
        p = np.random.default_rng(3).normal(size=(4000, 3)) / 10
        plan = GpuPlan(to_gpu(self.x), hessian=True, order=10, precision="f64")
        for q, dipoles in ((self.q, None), (self.q, p), (None, p)):
            found = plan.run(q if q is None else to_gpu(q), dipoles if dipoles is None else to_gpu(dipoles))
            right = pairforge.direct(self.x, q, dipoles=dipoles, hessian=True)
            self.near(found.potential.numpy(), right.potential, 1e-4)
            self.near(found.gradient.numpy(), right.gradient, 1e-3)
            self.near(found.hessian.numpy(), right.hessian, 1e-2)
        options = dict(kernel="p2p_yukawa", params={"kappa": 3.0}, order=6, precision="f64")
        on_host = pairforge.Plan(self.x, **options).run(self.q)
        found = GpuPlan(to_gpu(self.x), **options).run(to_gpu(self.q))
        self.near(found.gradient.numpy(), on_host.gradient, 1e-3)

    def test_what_is_not_there_is_refused(self):
        name, to_gpu, to_host, from_dlpack = self.libraries[0]
        x = np.zeros((9, 3), np.float32)
        with self.assertRaisesRegex(InputError, "give one of the GPU's"):
            GpuPlan(OnGpu((9, 3), address=x.ctypes.data), order=4)
        plan = GpuPlan(to_gpu(np.random.default_rng(1).random((9, 3))), order=4)
        with self.assertRaisesRegex(InputError, "the shape"):
            plan.run(to_gpu(np.zeros(8)))
        with self.assertRaisesRegex(InputError, "no numbers"):
            plan.run(to_gpu(np.full(9, np.nan)))


if __name__ == "__main__":
    unittest.main()
