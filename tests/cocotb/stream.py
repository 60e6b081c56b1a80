"""An engine with sources and sinks of AXI4-Stream that others wrote, and random pauses of both."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from vectors import Vectors


def to_bytes(words):
    return b"".join(word.to_bytes(4, "little") for word in words)


def to_words(data):
    return [int.from_bytes(data[k:k + 4], "little") for k in range(0, len(data), 4)]


async def start(dut):
    """The engine behind a reset, its source and its sink."""
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s"), dut.clk, dut.rst)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m"), dut.clk, dut.rst)
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 2)
    return source, sink


async def exchange(source, sink, vectors):
    for packet in vectors.input:
        await source.send(AxiStreamFrame(to_bytes(packet)))
    found = []
    for _ in vectors.output:
        frame = await with_timeout(sink.recv(), 100, "ms")
        found.append(to_words(bytes(frame.tdata)))
    vectors.check(found)


@cocotb.test()
async def packets_have_the_bits_of_the_emulator_whatever_the_pauses(dut):
    vectors, dice = Vectors(os.environ["FOLDER"]), random.Random(7)
    source, sink = await start(dut)

    def pauses(rate):
        while True:
            yield dice.random() < rate

    for of_source, of_sink in [(0, 0), (0.5, 0), (0, 0.5), (0.3, 0.3), (0.05, 0.9), (0.9, 0.05)]:
        source.set_pause_generator(pauses(of_source))
        sink.set_pause_generator(pauses(of_sink))
        await exchange(source, sink, vectors)
    await ClockCycles(dut.clk, 200)
    assert sink.empty(), "more than the answers came"


@cocotb.test()
async def malformed_packets_leave_an_engine_that_answers(dut):
    vectors, dice = Vectors(os.environ["FOLDER"]), random.Random(8)
    source, sink = await start(dut)
    fill = [0] * (vectors.words - 1)
    for _ in range(60):
        packet = [dice.randrange(9) << 24 | dice.randrange(4)]
        packet += [dice.choice([0, 1, dice.getrandbits(32)]) for _ in range(dice.randrange(12))]
        packet += [0] * (-len(packet) % vectors.words)
        await source.send(AxiStreamFrame(to_bytes(packet)))
    # What the engine had to answer comes in front of the last END; none of it was well formed by chance but what has one word.
    await source.send(AxiStreamFrame(to_bytes([0x05000001] + fill)))
    await source.send(AxiStreamFrame(to_bytes([0x06000000] + fill)))
    await with_timeout(source.wait(), 10, "ms")
    await ClockCycles(dut.clk, 3000)
    assert not sink.empty(), "no answer"
    while not sink.empty():
        last = to_words(bytes(sink.recv_nowait().tdata))
    assert last == [0x83000000] + fill
    await exchange(source, sink, vectors)
