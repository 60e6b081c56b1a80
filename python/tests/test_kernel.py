"""Kernels: compiled, run and built."""

import pathlib
import tempfile
import unittest
import xml.etree.ElementTree as tree

import numpy as np

import pairforge
from pairforge import CompileError, InputError

TEXT = """
fixed32.31 xi[3] ipin;
fixed32.31 xj[3] jpin;
float25.16 mj jpin;
float25.16 eps2 param;
fixed64.30 pout fout;
fixed64.30 gout[3] fout;
d = (float25.16)(xj - xi);
w = mj * pg_pow(d * d + eps2, -1, 2);
pout += (fixed64.30)w;
gout += (fixed64.30)(w * d);
"""


def records(n, seed=1):
    rng = np.random.default_rng(seed)
    return {"xi": rng.random((n, 3)) - 0.5}, {"xj": rng.random((n, 3)) - 0.5, "mj": rng.random(n)}


class Kernels(unittest.TestCase):
    def setUp(self):
        self.kernel = pairforge.compile(TEXT)

    def test_sums_are_those_of_the_formula(self):
        i, j = records(40)
        d = j["xj"][None] - i["xi"][:, None]
        w = j["mj"] / np.sqrt((d**2).sum(-1) + 0.01)
        for backend in ("emulator", "cpu"):
            sums = self.kernel.run(i, j, {"eps2": 0.01}, backend)
            self.assertLess(np.abs(sums["pout"] / w.sum(1) - 1).max(), 1e-3)
            self.assertEqual(sums["gout"].shape, (40, 3))
            self.assertLess(np.abs(sums["gout"] - (w[..., None] * d).sum(1)).max(), 1e-2)
        self.assertEqual((sums.pairs, list(sums)), (1600, ["pout", "gout"]))
        self.assertEqual(sums.to_records()["gout"].shape, (40, 3))

    def test_structured_arrays_and_elements_give_the_same_bits(self):
        i, j = records(20)
        right = self.kernel.run(i, j, {"eps2": 0.01})
        structured = np.empty(20, [("xj", np.float64, 3), ("mj", np.float64)])
        structured["xj"], structured["mj"] = j["xj"], j["mj"]
        elements = {f"xi[{k}]": i["xi"][:, k] for k in range(3)}
        found = self.kernel.with_params(eps2=0.01).run(elements, structured)
        self.assertTrue((found.raw("gout") == right.raw("gout")).all())

    def test_bit_patterns_in_and_out(self):
        i, j = records(20)
        right = self.kernel.run(i, j, {"eps2": 0.01})
        bits = lambda x: np.rint(x * 2**31).astype(np.int64) & 0xFFFFFFFF  # noqa: E731
        raw_i, raw_j = {"xi": bits(i["xi"])}, {"xj": bits(j["xj"]), "mj": self.mantissas(j["mj"])}
        found = self.kernel.run(raw_i, raw_j, {"eps2": 0.01}, raw=True)
        self.assertTrue((found.raw("pout") == right.raw("pout")).all())
        self.assertTrue((found.raw("pout").astype(np.int64) / 2**30 == found["pout"]).all())
        with self.assertRaisesRegex(InputError, "xi"):
            self.kernel.run({"xi": bits(i["xi"]) << 8}, raw_j, {"eps2": 0.01}, raw=True)

    @staticmethod
    def mantissas(x):
        """Patterns of float25.16, rounded to nearest even as NumPy rounds."""
        fraction, exponent = np.frexp(x)
        significand = np.rint(np.ldexp(fraction, 17)).astype(np.int64)
        exponent = exponent + (significand >> 17)
        significand = np.where(significand >> 17, significand >> 1, significand)
        return np.where(x == 0, 0, (exponent - 1 + 127) << 16 | significand & 0xFFFF)

    def test_flags_say_what_was_lost(self):
        i, j = records(5)
        sums = self.kernel.run(i, {**j, "mj": j["mj"] * 1e30}, {"eps2": 0.0})
        self.assertEqual(set(sums.flags), set(range(5)))
        self.assertIn("saturation", sums.flags[0])

    def test_what_is_wrong_is_named(self):
        i, j = records(10)
        for call, text in [
            (lambda: self.kernel.run(i, j), "eps2"),
            (lambda: self.kernel.run(i, j, {"eps": 1}), "no parameter `eps`; it has eps2"),
            (lambda: self.kernel.run(i, {"xj": j["xj"]}, {"eps2": 0}), "`mj`"),
            (lambda: self.kernel.run({"xi": i["xi"][:, :2]}, j, {"eps2": 0}), "xi.*the shape \\(10, 2\\)"),
            (lambda: self.kernel.run({**i, "q": j["mj"]}, j, {"eps2": 0}), "`q`"),
            (lambda: self.kernel.run(i, {**j, "mj": j["mj"][:9]}, {"eps2": 0}), "`mj` has 9"),
            (lambda: self.kernel.run({"xi": i["xi"] * 3}, j, {"eps2": 0}), "`xi\\["),
            (lambda: self.kernel.run(3, j, {"eps2": 0}), "`i` is no structured array"),
            (lambda: self.kernel.run(i, j, {"eps2": 0}, backend="gpu"), "the backends are"),
            (lambda: self.kernel.run(i, j, {"eps2": "a"}), "`eps2`"),
            (lambda: self.kernel.build(pipelines=0), ""),
            (lambda: self.kernel.build(target="asic"), "the targets are"),
        ]:
            with self.subTest(text), self.assertRaisesRegex(InputError, text):
                call()

    def test_mistakes_in_a_text_come_with_their_place(self):
        with self.assertRaises(CompileError) as caught:
            pairforge.compile("float18.9 x ipin;\ny += x;\n")
        first = caught.exception.diagnostics[0]
        self.assertEqual((first["line"], first["severity"]), (2, "error"))
        self.assertTrue(first["code"].startswith("PG"))
        self.assertIn("y += x;", str(caught.exception))
        self.assertIn(first["message"], str(caught.exception))
        with self.assertRaisesRegex(InputError, "there is no file `missing.pg2`"):
            pairforge.compile("missing.pg2")
        with self.assertRaises(InputError):
            pairforge.compile(17)

    def test_files_and_shipped_kernels(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "my_sum.pg2"
            path.write_text(TEXT)
            self.assertEqual(pairforge.compile(path).name, "my_sum")
            self.assertEqual(pairforge.compile(str(path)).pins[0].shape, (3,))
        self.assertEqual(pairforge.compile("gravity").name, "gravity")

    def test_designs_and_schedules(self):
        with tempfile.TemporaryDirectory() as folder:
            design = self.kernel.build(pathlib.Path(folder) / "out", pipelines=2)
            files = {file.name for file in (pathlib.Path(folder) / "out").iterdir()}
        self.assertEqual(design.manifest["pipelines"], 2)
        self.assertEqual(files, {"manifest.json", *design.manifest["verilog"]})
        self.assertIn(f"module {design.manifest['top']}", design.verilog)
        schedule = self.kernel.schedule
        self.assertEqual(schedule.cycles, design.schedule.cycles)
        self.assertGreater(schedule.register_bits, 0)
        self.assertIn("operator", schedule.rows[0])
        self.assertEqual(tree.fromstring(schedule._repr_svg_()).tag, "{http://www.w3.org/2000/svg}svg")
        self.assertEqual(str(schedule), self.kernel.explain())

    def test_a_kernel_on_pipelines_in_an_fmm(self):
        rng = np.random.default_rng(2)
        x, q = rng.random((300, 3)), rng.random(300)
        found = pairforge.fmm(x, q, backend="emulator", order=2)
        right = pairforge.direct(x, q)
        self.assertLess(np.linalg.norm(found.potential - right.potential) / np.linalg.norm(right.potential), 1e-2)
        self.assertEqual(found.stats["backend"], "emulator")


if __name__ == "__main__":
    unittest.main()
