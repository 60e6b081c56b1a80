// Made by pairforge: a self-checking testbench for @{top}@, plain Verilog-2005.
//
// It sends the beats of @{input}@ and compares what comes back with @{output}@, which hold
// the bits of the bit-exact emulator: the results of each lane group in their order, whatever the groups' turns, and behind all
// of them the answers to STATUS, without its count of cycles, and END.{% if engines > 1 %} Each of the @{engines}@ engines gets its packets in
// their order, and answers by itself.{% endif %} The whole stream is sent three times: at full speed, with random gaps in the
// input, and with random gaps and a sink that is not always ready. Both streams' handshakes are checked on the way.
// Run it in this folder, for example:
//
//     iverilog -g2005 -o testbench @{files}@ @{top}@_tb.v && vvp testbench
//
//  or verilator --binary -Wno-lint -Wno-fatal --top-module @{top}@_tb @{files}@ @{top}@_tb.v && obj_dir/V@{top}@_tb
//
// The last line that it writes begins with PASS or FAIL, and the exit status is 0 or another one. A design that hangs is a FAIL.
// Simulators of plain Verilog-2005 have no $fatal: with NO_FATAL defined the last line alone tells. `+dump` writes @{top}@.vcd.

module @{top}@_tb;
    localparam BITS = @{bits}@;
    localparam BEATS_IN = @{beats_in}@;
    localparam BEATS_OUT = @{beats_out}@;
    // Result packets among them, and beats of the longest packet.
    localparam RESULTS = @{results}@;
    localparam MOST = @{most}@;
    // Each engine has a list of beats for each lane group, and behind these one for the other answers.
    localparam ENGINES = @{engines}@;
    localparam LISTS = @{bases[engines]}@;
    localparam [7:0] RESULT = 8'h@{result}@;
    // Cycles without a beat in or out after which the engine is taken to hang.
    localparam PATIENCE = @{timeout}@;

    reg clk;
    reg rst;
    // A beat and, above it, its TLAST.
    reg [BITS:0] stimulus [0:BEATS_IN - 1];
    // The same with a bit for each word that is compared below the TLAST.
    reg [BITS + 7:0] wanted [0:BEATS_OUT - 1];
    // Where the beats of each list begin, and which one of them comes next.
    integer starts [0:LISTS];
    integer next [0:LISTS - 1];
    // The first list of each engine.
    integer bases [0:ENGINES];
    // The packet that comes in: its beats so far.
    reg [BITS - 1:0] packet [0:MOST - 1];
    integer beats;
    reg [BITS - 1:0] s_tdata;
    reg s_tvalid;
    reg s_tlast;
    wire s_tready;
    wire [BITS - 1:0] m_tdata;
    wire m_tvalid;
    wire m_tlast;
    reg m_tready;

    @{top}@ engine (
        .clk(clk),
        .rst(rst),
        .s_tdata(s_tdata),
        .s_tvalid(s_tvalid),
        .s_tready(s_tready),
        .s_tlast(s_tlast),
        .m_tdata(m_tdata),
        .m_tvalid(m_tvalid),
        .m_tready(m_tready),
        .m_tlast(m_tlast)
    );

    integer round;
    integer sent;
    integer received;
    integer results;
    integer from;
    integer list;
    integer k;
    integer errors;
    integer idle;
    integer seed;
    // Percent of the cycles in which the input has nothing to send, and in which the output is not taken.
    integer gap;
    integer stall;
    // The offered beat was taken at the last rising edge.
    reg taken;
    reg held;
    reg [BITS:0] held_beat;

    // A number from 0 to 99.
    function integer percent;
        input integer dummy;
        percent = $unsigned($random(seed)) % 100;
    endfunction

    initial begin
        $readmemh("@{input}@", stimulus);
        $readmemh("@{output}@", wanted);
        if ($test$plusargs("dump")) begin
            $dumpfile("@{top}@.vcd");
            $dumpvars(0, @{top}@_tb);
        end
        clk = 1'b0;
        rst = 1'b1;
        s_tdata = {BITS{1'b0}};
        s_tvalid = 1'b0;
        s_tlast = 1'b0;
        m_tready = 1'b0;
        round = 0;
        sent = 0;
        received = 0;
        results = 0;
        beats = 0;
{%- for start in starts %}
        starts[@{loop.index0}@] = @{start}@;
{%- endfor %}
{%- for base in bases %}
        bases[@{loop.index0}@] = @{base}@;
{%- endfor %}
        rewind;
        errors = 0;
        idle = 0;
        seed = 1;
        gap = 0;
        stall = 0;
        taken = 1'b0;
        held = 1'b0;
        held_beat = {BITS + 1{1'b0}};
        // Inputs change at the falling edge, far from the edge at which the engine looks.
        repeat (4) begin
            #5 clk = 1'b1;
            #5 clk = 1'b0;
        end
        rst = 1'b0;
        while (round < 3 && errors < 10 && idle < PATIENCE) begin
            drive;
            #5;
            observe;
            clk = 1'b1;
            #5 clk = 1'b0;
        end
        // Nothing may follow the last answer.
        repeat (100) begin
            #5;
            if (m_tvalid && round == 3 && errors == 0) begin
                $display("a beat came after the last answer: %h", m_tdata);
                errors = errors + 1;
            end
            clk = 1'b1;
            #5 clk = 1'b0;
            s_tvalid = 1'b0;
        end
        if (idle >= PATIENCE) begin
            $display("round %0d: nothing moved for %0d cycles, after %0d beats in and %0d out", round, idle, sent, received);
            errors = errors + 1;
        end
        if (RESULTS == 0 || (errors == 0 && results != 3 * RESULTS)) begin
            $display("%0d results came in 3 rounds of %0d", results, RESULTS);
            errors = errors + 1;
        end
        if (errors == 0)
            $display("PASS: 3 rounds of %0d beats in and %0d beats out, %0d results each", BEATS_IN, BEATS_OUT, RESULTS);
        else $display("FAIL: %0d errors", errors);
        conclude(errors != 0);
    end

    // Ends the simulation with exit status 0, or with another one if it failed. In Verilator $finish and $fatal write lines of
    // their own, and in Icarus $fatal does, so these two end in their own words, and PASS or FAIL stays the last line.
    task conclude;
        input failed;
        begin
`ifdef __ICARUS__
            $finish_and_return({31'd0, failed});
`elsif VERILATOR
            if (failed) $c("Verilated::runFlushCallbacks(); std::exit(1);");
            else $c("Verilated::runFlushCallbacks(); std::exit(0);");
`elsif NO_FATAL
            $finish(0);
`else
            if (failed) $fatal(0);
            $finish(0);
`endif
        end
    endtask

    // Begins all lists of wanted beats anew.
    task rewind;
        for (k = 0; k < LISTS; k = k + 1) next[k] = starts[k];
    endtask

    // Compares a whole packet with the next one of its list.
    task judge;
        begin
            from = 0;
{%- if engines > 1 %}
            // The first beat of a packet has the number of its engine.
            from = {24'd0, packet[0][7:0]};
            if ((from < ENGINES) !== 1'b1) begin
                $display("round %0d: an answer of engine %0d, which there is not", round, from);
                errors = errors + 1;
                from = 0;
            end
{%- endif %}
            list = bases[from + 1] - 1;
            if (packet[0][31:24] === RESULT) begin
                results = results + 1;
                // The low byte of a tag is the lane group.
                list = {24'd0, {% if words == 1 %}packet[@{engines.min(2)}@][7:0]{% else %}packet[@{engines.min(2) - 1}@][39:32]{% endif %}};
                if ((list < bases[from + 1] - bases[from] - 1) !== 1'b1) begin
                    $display("round %0d: a result of lane group %0d, which the engine does not have", round, list);
                    errors = errors + 1;
                    list = bases[from + 1] - 1;
                end else list = list + bases[from];
            end else begin
                for (k = bases[from]; k < bases[from + 1] - 1; k = k + 1)
                    if (next[k] != starts[k + 1]) begin
                        $display("round %0d: an answer came before all results of lane group %0d", round, k - bases[from]);
                        errors = errors + 1;
                    end
            end
            for (k = 0; k < beats; k = k + 1) begin
                if (next[list] >= starts[list + 1]) begin
                    $display("round %0d: a beat too many: %h", round, packet[k]);
                    errors = errors + 1;
                end else begin
                    compare(packet[k], k == beats - 1, wanted[next[list]]);
                    next[list] = next[list] + 1;
                end
            end
        end
    endtask

    // Compares a beat with the wanted one in the words that count.
    task compare;
        input [BITS - 1:0] data;
        input last;
        input [BITS + 7:0] expected;
        reg same;
        begin
            same = last === expected[BITS + 4];
{%- for word in 0..words %}
            if (expected[BITS + @{word}@] && data[@{32 * word + 31}@:@{32 * word}@] !== expected[@{32 * word + 31}@:@{32 * word}@]) same = 1'b0;
{%- endfor %}
            if (!same) begin
                $display("round %0d: a beat of packet %0d is %h instead of %h", round, received, {last, data},
                    {expected[BITS + 4], expected[BITS - 1:0]});
                errors = errors + 1;
            end
        end
    endtask

    // Offers the next beat and the sink's readiness; an offered beat stays until it is taken.
    task drive;
        begin
            if (taken) s_tvalid = 1'b0;
            taken = 1'b0;
            if (!s_tvalid && sent < BEATS_IN && percent(0) >= gap) begin
                {s_tlast, s_tdata} = stimulus[sent];
                s_tvalid = 1'b1;
            end
            m_tready = percent(0) >= stall;
        end
    endtask

    // Looks at both handshakes just before the rising edge.
    task observe;
        begin
            idle = idle + 1;
            if (held && (m_tvalid !== 1'b1 || {m_tlast, m_tdata} !== held_beat)) begin
                $display("round %0d: beat %0d changed or went away before it was taken", round, received);
                errors = errors + 1;
            end
            held = m_tvalid & ~m_tready;
            held_beat = {m_tlast, m_tdata};
            if (m_tvalid === 1'bx || s_tready === 1'bx) begin
                $display("round %0d: an unknown handshake", round);
                errors = errors + 1;
            end
            if (m_tvalid && m_tready) begin
                idle = 0;
                if (beats == MOST) begin
                    $display("round %0d: a packet goes on too long: %h", round, m_tdata);
                    errors = errors + 1;
                end else begin
                    packet[beats] = m_tdata;
                    beats = beats + 1;
                end
                if (m_tlast !== 1'b0) begin
                    judge;
                    beats = 0;
                end
                received = received + 1;
            end
            if (s_tvalid && s_tready) begin
                idle = 0;
                sent = sent + 1;
                taken = 1'b1;
            end
            if (received >= BEATS_OUT && sent >= BEATS_IN) begin
                round = round + 1;
                sent = 0;
                received = 0;
                rewind;
                gap = 30;
                stall = round == 2 ? 40 : 0;
            end
        end
    endtask
endmodule
