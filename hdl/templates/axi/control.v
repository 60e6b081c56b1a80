    // The registers of an AXI4-Lite slave, laid out as Vitis has them for kernels with `ap_ctrl_hs`, and the course of a job.
{%- for r in registers %}
    localparam [9:0] AT_@{r.name}@ = 10'd@{r.offset / 4}@; // 0x@{r.hex}@
{%- endfor %}

    // The course of a job: its arguments are judged, what an earlier one left is cleared, and commands and results move until
    // the engine has answered the last of them and the memory has taken all.
    localparam [2:0] IDLE  = 3'd0;
    localparam [2:0] JUDGE = 3'd1;
    localparam [2:0] CLEAR = 3'd2;
    localparam [2:0] BEGIN = 3'd3;
    localparam [2:0] WORK  = 3'd4;
    localparam [2:0] DRAIN = 3'd5; // of a reset by software: bursts that have begun must end
    localparam [2:0] RESET = 3'd6;
    reg [2:0] state;
    reg [3:0] clocks;
    reg halted;
    reg reset_all;
    reg clearing;
    reg going;
    assign rst = reset_all;
    assign halt = halted;
    assign clear = clearing;
    assign go = going;

    reg [63:0] commands;
    reg [63:0] results;
    reg [31:0] command_bytes;
    reg [31:0] result_bytes;
    assign commands_at = commands;
    assign command_words = command_bytes[31:2];
    assign results_at = results;
    assign result_words = result_bytes[31:2];
    wire aligned = {commands[@{align_bits - 1}@:0], results[@{align_bits - 1}@:0]} == @{2 * align_bits}@'d0;
    wire whole = {command_bytes[1:0], result_bytes[1:0]} == 4'd0;
    reg misplaced;
    wire finished = fed & stored & fetch_idle;
    wire ends = ((state == JUDGE) & ~(aligned & whole)) | ((state == WORK) & finished);

    wire [31:0] status = {26'd0, misplaced, {protocol_error, write_error, read_error, full, malformed} & {5{~misplaced}}};

    // Writes: the address and the data are taken in one clock.
    reg taking;
    reg written;
    assign s_axi_control_awready = taking;
    assign s_axi_control_wready = taking;
    assign s_axi_control_bvalid = written;
    assign s_axi_control_bresp = 2'd0;
    wire [9:0] put_at = s_axi_control_awaddr[11:2];
    wire [31:0] mask = {{8{s_axi_control_wstrb[3]}}, {8{s_axi_control_wstrb[2]}}, {8{s_axi_control_wstrb[1]}}, {8{s_axi_control_wstrb[0]}}};
    wire [31:0] put = s_axi_control_wdata & mask;
    wire starts = taking & (put_at == AT_CONTROL) & put[0] & (state == IDLE);
    wire resets = taking & (put_at == AT_RESET) & put[0];

    // Reads.
    reg looking;
    reg answered;
    reg [31:0] answer;
    assign s_axi_control_arready = looking;
    assign s_axi_control_rvalid = answered;
    assign s_axi_control_rdata = answer;
    assign s_axi_control_rresp = 2'd0;
    wire [9:0] get_at = s_axi_control_araddr[11:2];

    reg started;
    reg done;
    reg interrupts;
    reg [1:0] enabled;
    reg [1:0] raised;
    reg interrupt_out;
    assign interrupt = interrupt_out;

    always @(posedge clk) begin
        if (~rst_n) begin
            taking <= 1'b0;
            written <= 1'b0;
            looking <= 1'b0;
            answered <= 1'b0;
        end else begin
            taking <= s_axi_control_awvalid & s_axi_control_wvalid & ~taking & ~written;
            if (taking) written <= 1'b1;
            else if (s_axi_control_bready) written <= 1'b0;
            looking <= s_axi_control_arvalid & ~looking & ~answered;
            if (looking) answered <= 1'b1;
            else if (s_axi_control_rready) answered <= 1'b0;
        end
        if (looking) begin
            case (get_at)
{%- for r in registers %}
                AT_@{r.name}@: answer <= @{r.read}@;
{%- endfor %}
                default: answer <= 32'd0;
            endcase
        end
    end

    always @(posedge clk) begin
        if (~rst_n) begin
            commands <= 64'd0;
            results <= 64'd0;
            command_bytes <= 32'd0;
            result_bytes <= 32'd0;
            interrupts <= 1'b0;
            enabled <= 2'd0;
        end else if (taking) begin
            case (put_at)
{%- for r in registers %}{% if let Some(held) = r.held %}
                AT_@{r.name}@: @{held}@ <= put{% if r.bits < 32 %}[@{r.bits - 1}@:0]{% endif %} | (@{held}@ & ~mask{% if r.bits < 32 %}[@{r.bits - 1}@:0]{% endif %});
{%- endif %}{% endfor %}
                default: ;
            endcase
        end
        if (~rst_n) begin
            started <= 1'b0;
            done <= 1'b0;
            raised <= 2'd0;
            interrupt_out <= 1'b0;
        end else begin
            if (starts) started <= 1'b1;
            else if (ends | (state == RESET)) started <= 1'b0;
            // Whoever reads that a job is done takes the note away.
            if (ends) done <= 1'b1;
            else if (starts | (state == RESET) | (looking & (get_at == AT_CONTROL))) done <= 1'b0;
            // A bit that is written as 1 is turned over.
            raised <= (raised ^ ((taking & (put_at == AT_RAISED)) ? put[1:0] : 2'd0)) | (enabled & {2{ends}});
            interrupt_out <= interrupts & (raised != 2'd0);
        end
    end

    always @(posedge clk) begin
        reset_all <= ~rst_n | (state == RESET);
        halted <= rst_n & (state == DRAIN);
        clearing <= rst_n & (state == CLEAR);
        going <= rst_n & (state == BEGIN);
        if (starts | (state == RESET)) misplaced <= 1'b0;
        else if (state == JUDGE) misplaced <= ~(aligned & whole);
        // In front of each state that counts, it is 0.
        if (~rst_n | ((state != CLEAR) & (state != RESET) & (state != DRAIN))) clocks <= 4'd0;
        else clocks <= clocks + 4'd1;
        if (~rst_n) state <= RESET;
        else if (resets & (state != RESET) & (state != DRAIN)) state <= DRAIN;
        else begin
            case (state)
                IDLE: if (starts) state <= JUDGE;
                JUDGE: state <= (aligned & whole) ? CLEAR : IDLE;
                CLEAR: if (clocks == 4'd3) state <= BEGIN;
                BEGIN: state <= WORK;
                WORK: if (finished) state <= IDLE;
                // A burst that was to begin as the halt was told counts too.
                DRAIN: if ((clocks == 4'd15) & fetch_idle & store_idle) state <= RESET;
                RESET: if (clocks == 4'd15) state <= IDLE;
                default: state <= RESET;
            endcase
        end
    end
    wire unused = &{1'b0, s_axi_control_awaddr[1:0], s_axi_control_araddr[1:0], s_axi_control_awprot, s_axi_control_arprot};
