"""The wrapper behind registers, with a master and a memory that others wrote: jobs, and what can be wrong with them."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiReadBus, AxiSlaveRead, AxiSlaveWrite, AxiWriteBus, SparseMemoryRegion

from vectors import Vectors

CONTROL, INTERRUPTS, ENABLED, RAISED = 0x00, 0x04, 0x08, 0x0C
COMMANDS, RESULTS, COMMAND_BYTES, RESULT_BYTES = 0x10, 0x1C, 0x28, 0x30
STATUS, WRITTEN, TAKEN, RESET = 0x38, 0x3C, 0x40, 0x44
START, DONE, IDLE, READY = 1, 2, 4, 8
MALFORMED, FULL, READ_ERROR, WRITE_ERROR, PROTOCOL_ERROR, MISPLACED = (1 << k for k in range(6))
ROOM = 1 << 16
SENTINEL = 0xA5


class Memory(SparseMemoryRegion):
    """A memory that answers with an error from some address on, if it is told so."""

    broken = None

    async def _read(self, address, length, **kwargs):
        if self.broken is not None and address + length > self.broken:
            raise Exception("broken")
        return await super()._read(address, length, **kwargs)

    async def _write(self, address, data, **kwargs):
        if self.broken is not None and address + len(data) > self.broken:
            raise Exception("broken")
        await super()._write(address, data, **kwargs)


class Bench:
    """The wrapper, its master and its memories."""

    def __init__(self, dut, seed):
        self.dut = dut
        self.dice = random.Random(seed)
        self.vectors = Vectors(os.environ["FOLDER"])
        self.beat = len(dut.m_axi_commands_rdata) // 8
        self.commands, self.results = Memory(2**64), Memory(2**64)
        cocotb.start_soon(Clock(dut.ap_clk, 10, unit="ns").start())
        reset = {"reset": dut.ap_rst_n, "reset_active_level": False}
        self.registers = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axi_control"), dut.ap_clk, **reset)
        self.reads = AxiSlaveRead(AxiReadBus.from_prefix(dut, "m_axi_commands"), dut.ap_clk, target=self.commands, **reset)
        self.writes = AxiSlaveWrite(AxiWriteBus.from_prefix(dut, "m_axi_results"), dut.ap_clk, target=self.results, **reset)
        self.pauses = [
            self.reads.ar_channel, self.reads.r_channel,
            self.writes.aw_channel, self.writes.w_channel, self.writes.b_channel,
            self.registers.write_if.aw_channel, self.registers.write_if.w_channel, self.registers.write_if.b_channel,
            self.registers.read_if.ar_channel, self.registers.read_if.r_channel,
        ]

    async def start(self):
        self.dut.ap_rst_n.value = 0
        await ClockCycles(self.dut.ap_clk, 4)
        self.dut.ap_rst_n.value = 1
        await ClockCycles(self.dut.ap_clk, 2)

    def pause(self, rates):
        """Channels stand still at random, each at a rate of its own."""
        for channel in self.pauses:
            rate = self.dice.choice(rates)
            channel.set_pause_generator(self._pauses(rate) if rate else None)
            if not rate:
                channel.pause = False

    def _pauses(self, rate):
        while True:
            yield self.dice.random() < rate

    async def read(self, register):
        return await self.registers.read_dword(register)

    async def write(self, register, value):
        await self.registers.write_dword(register, value)

    def packed(self, packets):
        """Packets as a buffer: some with what fills their last beat, others without."""
        data = b""
        for packet in packets:
            words = list(packet)
            least = len(words) - self.vectors.words + 1
            while len(words) > least and words[-1] == 0 and self.dice.random() < 0.7:
                words.pop()
            data += b"".join(word.to_bytes(4, "little") for word in [len(words), *words])
        return data

    def unpacked(self, data):
        words = [int.from_bytes(data[k:k + 4], "little") for k in range(0, len(data), 4)]
        packets = []
        while words:
            count, words = words[0], words[1:]
            assert 0 < count <= len(words), f"a count of {count} before {len(words)} words"
            packets.append(words[:count])
            words = words[count:]
        return packets

    async def begin(self, data, room=ROOM, size=None, at=None, to=None, unreadable=None, unwritable=None):
        """Starts a job. Its buffers stand anywhere; from some byte on they may be unreadable, or unwritable."""
        places = [self.dice.randrange(1 << 40) * self.beat for _ in range(2)]
        self.at, self.to = at if at is not None else places[0], to if to is not None else places[1]
        self.room = room
        self.commands.broken = self.results.broken = None
        await self.commands.write(self.at, data)
        await self.results.write(self.to, bytes([SENTINEL]) * (room + 64))
        if unreadable is not None:
            self.commands.broken = self.at + unreadable
        if unwritable is not None:
            self.results.broken = self.to + unwritable
        size = len(data) if size is None else size
        for register, value in [(COMMANDS, self.at), (RESULTS, self.to)]:
            await self.write(register, value & 0xFFFFFFFF)
            await self.write(register + 4, value >> 32)
        await self.write(COMMAND_BYTES, size)
        await self.write(RESULT_BYTES, room)
        await self.write(CONTROL, START)

    async def end(self):
        """Waits for the end of a job: its status and the packets that it has written."""
        for _ in range(20000):
            control = await self.read(CONTROL)
            if control & DONE:
                break
            assert control & START and not control & IDLE, f"control is {control:x}"
            await ClockCycles(self.dut.ap_clk, 20)
        else:
            raise AssertionError("the job does not end")
        assert control & IDLE and control & READY and not control & START, f"control is {control:x}"
        assert not await self.read(CONTROL) & DONE, "done stays when it has been read"
        written = await self.read(WRITTEN)
        broken, self.results.broken = self.results.broken, None
        data = await self.results.read(self.to, self.room + 64)
        assert broken or data[written:] == bytes([SENTINEL]) * (len(data) - written), "bytes behind the results have changed"
        return await self.read(STATUS), [] if broken else self.unpacked(data[:written])

    async def good(self):
        """A job without a fault."""
        data = self.packed(self.vectors.input)
        await self.begin(data)
        status, packets = await self.end()
        assert status == 0, f"status is {status:x}"
        assert await self.read(TAKEN) == len(data)
        self.vectors.check(packets)

    async def clear(self):
        """Clears the engine's error bit, which stays until somebody does."""
        await self.begin(self.packed([[0x05000001] + [0] * (self.vectors.words - 1)]))
        await self.end()


@cocotb.test()
async def jobs_have_the_bits_of_the_emulator(dut):
    bench = Bench(dut, 1)
    await bench.start()
    for rates in [[0], [0, 0.2, 0.5], [0, 0.8]]:
        bench.pause(rates)
        await bench.good()


@cocotb.test()
async def an_interrupt_comes_when_a_job_is_done(dut):
    bench = Bench(dut, 2)
    await bench.start()
    await bench.write(INTERRUPTS, 1)
    await bench.write(ENABLED, 1)
    await bench.begin(bench.packed(bench.vectors.input))
    assert int(dut.interrupt.value) == 0
    assert await First(RisingEdge(dut.interrupt), limit := Timer(10, unit="ms")) is not limit, "no interrupt"
    assert await bench.read(RAISED) == 1
    await bench.write(RAISED, 1)
    await ClockCycles(dut.ap_clk, 3)
    assert int(dut.interrupt.value) == 0 and await bench.read(RAISED) == 0
    status, packets = await bench.end()
    assert status == 0
    bench.vectors.check(packets)
    # Registers keep their bytes.
    await bench.registers.write(COMMANDS, b"\x01\x02\x03\x04\x05\x06\x07\x08")
    await bench.registers.write(COMMANDS + 2, b"\xAA")
    assert await bench.read(COMMANDS) == 0x04AA0201 and await bench.read(COMMANDS + 4) == 0x08070605
    assert await bench.read(0x48) == 0 and await bench.read(0xFF0) == 0


@cocotb.test()
async def malformed_commands_end_in_a_status(dut):
    bench = Bench(dut, 3)
    await bench.start()
    bench.pause([0, 0.3])
    packets = bench.vectors.input
    data = bench.packed(packets)
    word = lambda value: value.to_bytes(4, "little")
    # What stands before a wrong count is done; the count is not.
    for count in [0, (1 << 24) + 1, 0xFFFFFFFF, 2]:
        broken = data + word(count) + word(0x06000000)
        await bench.begin(broken)
        status, found = await bench.end()
        assert status == MALFORMED, f"status is {status:x} for a count of {count}"
        assert await bench.read(TAKEN) == len(data)
        bench.vectors.check(found)
    # A buffer that ends anywhere: its whole packets are done.
    for _ in range(6):
        size = 4 * bench.dice.randrange(len(data) // 4)
        await bench.begin(data, size=size)
        status, _ = await bench.end()
        assert status & ~(MALFORMED | PROTOCOL_ERROR) == 0, f"status is {status:x}"
        assert await bench.read(TAKEN) <= size
        await bench.clear()
    # Any words.
    for _ in range(6):
        count = bench.dice.randrange(1, 300)
        mess = [[bench.dice.choice([bench.dice.getrandbits(32), bench.dice.randrange(8) << 24 | bench.dice.randrange(3)])
                 for _ in range(bench.dice.randrange(1, 12))] for _ in range(count)]
        await bench.begin(b"".join(word(w) for packet in mess for w in [len(packet), *packet]))
        status, _ = await bench.end()
        assert status & ~PROTOCOL_ERROR == 0, f"status is {status:x}"
        await bench.clear()
    # No commands at all, and arguments that stand askew.
    await bench.begin(b"")
    assert await bench.end() == (0, [])
    askew = [{"size": len(data) - 2}, {"room": ROOM - 1}, {"at": 0x1002}, {"to": 0x2001}]
    for case in askew + [{"at": bench.beat // 2}] * (bench.beat > 4):
        await bench.begin(data, **case)
        assert await bench.end() == (MISPLACED, []), f"{case}"
    await bench.good()


@cocotb.test()
async def results_without_room_end_in_a_status(dut):
    bench = Bench(dut, 4)
    await bench.start()
    bench.pause([0, 0.4])
    await bench.begin(bench.packed(bench.vectors.input))
    _, whole = await bench.end()
    total = sum(4 + 4 * len(packet) for packet in whole)
    for room in [0, 4, 8, total // 2 & ~3, total - 4, total]:
        await bench.begin(bench.packed(bench.vectors.input), room=room)
        status, found = await bench.end()
        assert status == (0 if room == total else FULL), f"status is {status:x} with {room} bytes"
        count = len(found)
        assert [len(p) for p in found] == [len(p) for p in whole[:count]]
        written = sum(4 + 4 * len(packet) for packet in found)
        assert count == len(whole) or written + 4 + 4 * len(whole[count]) > room, "there was room for more"
    await bench.good()


@cocotb.test()
async def errors_of_the_bus_end_in_a_status(dut):
    bench = Bench(dut, 5)
    await bench.start()
    bench.pause([0, 0.3])
    data = bench.packed(bench.vectors.input)
    for _ in range(12):
        await bench.begin(data, unreadable=bench.dice.randrange(len(data)))
        status, _ = await bench.end()
        assert status & ~PROTOCOL_ERROR == READ_ERROR, f"status is {status:x}"
        await bench.clear()
    for _ in range(3):
        await bench.begin(data, unwritable=bench.dice.randrange(64))
        status, _ = await bench.end()
        assert status == WRITE_ERROR, f"status is {status:x}"
    await bench.good()


@cocotb.test()
async def a_reset_at_any_time_leaves_a_sound_engine(dut):
    bench = Bench(dut, 6)
    await bench.start()
    data = bench.packed(bench.vectors.input)
    for k in range(10):
        bench.pause([[0], [0, 0.5], [0.8]][k % 3])
        await bench.begin(data)
        await ClockCycles(dut.ap_clk, bench.dice.randrange(2000))
        await bench.write(RESET, 1)
        for _ in range(1000):
            if await bench.read(RESET) == 0:
                break
        else:
            raise AssertionError("the reset does not end")
        assert await bench.read(CONTROL) & ~READY == IDLE, "a reset leaves it idle"
        assert await bench.read(STATUS) == 0 and await bench.read(WRITTEN) == 0
        if k % 3 == 0:
            await bench.good()
    bench.pause([0])
    await bench.good()
