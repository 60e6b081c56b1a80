"""Packets of a job and of its answers, from the vectors that `pairforge build --testbench` writes."""

import json
import pathlib


class Vectors:
    """The vectors of the design in a folder."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.top = self.manifest["top"]
        self.words = self.manifest["stream_bits"] // 32
        #: Packets as lists of words, with what fills their last beats.
        self.input = [[word for beat, _ in packet for word in beat] for packet in self._packets(folder, "in")]
        #: The same of the answers, and for each word whether the emulator says what it is.
        self.output = [
            [(word, mask >> k & 1) for beat, mask in packet for k, word in enumerate(beat)]
            for packet in self._packets(folder, "out")
        ]

    def _packets(self, folder, side):
        packet = []
        for line in (folder / f"{self.top}_tb_{side}.hex").read_text().split():
            flags, data = line.split("_")
            flags, data = int(flags, 16), int(data, 16)
            # Of what comes out, a bit for each word that is compared stands below that of the last beat.
            last, mask = (flags & 1, 0) if side == "in" else (flags >> 4 & 1, flags & 15)
            packet.append(([data >> 32 * k & 0xFFFFFFFF for k in range(self.words)], mask))
            if last:
                yield packet
                packet = []

    def check(self, found):
        """Compares packets, without padding or with it, with those that are due."""
        assert len(found) == len(self.output), f"{len(found)} packets of {len(self.output)}"
        for number, (packet, due) in enumerate(zip(found, self.output)):
            most, least = len(due), len(due) - self.words + 1
            assert least <= len(packet) <= most, f"packet {number} has {len(packet)} words, not {least} to {most}"
            for k, (word, (wanted, counts)) in enumerate(zip(packet, due)):
                assert not counts or word == wanted, f"word {k} of packet {number} is {word:08x}, not {wanted:08x}"
            missing = [word for word, counts in due[len(packet):] if counts]
            assert not any(missing), f"packet {number} is too short"
