// A host and a memory around a wrapper, for a program at the other end of a pipe. It takes lines: `w OFFSET VALUE` and `r OFFSET`
// for registers, `p INDEX VALUE` and `g INDEX` for words of the memory, all in hexadecimal. It answers `r` and `g` with a word. The
// memory takes its time, at random, and answers with errors from word BROKEN on.
module bench;
    localparam STDIN = 32'h8000_0000;
    localparam DATA = `DATA;
    localparam [3:0] WORDS = DATA / 32;
    reg clk = 0, rst_n = 0;
    always #5 clk = ~clk;
    reg [31:0] memory [0:65535];
    integer seed = `SEED, broken = 65536;

    reg [11:0] awaddr = 0, araddr = 0;
    reg awvalid = 0, wvalid = 0, bready = 0, arvalid = 0, rready = 0;
    reg [31:0] wdata = 0;
    wire awready, wready, bvalid, arready, rvalid, interrupt;
    wire [31:0] rdata;
    wire [1:0] bresp, rresp;

    wire [63:0] c_araddr, r_awaddr;
    wire [7:0] c_arlen, r_awlen;
    wire c_arvalid, c_rready, r_awvalid, r_wlast, r_wvalid, r_bready;
    wire [DATA - 1:0] r_wdata;
    wire [DATA / 8 - 1:0] r_wstrb;
    wire c_arid, r_awid;
    wire [2:0] c_arsize, c_arprot, r_awsize, r_awprot;
    wire [1:0] c_arburst, r_awburst;
    wire [3:0] c_arcache, r_awcache;
    reg c_arready = 0, c_rvalid = 0, c_rlast = 0, r_awready = 0, r_wready = 0, r_bvalid = 0;
    reg [DATA - 1:0] c_rdata = 0;
    reg [1:0] c_rresp = 0, r_bresp = 0;

    `TOP wrapper (
        .ap_clk(clk), .ap_rst_n(rst_n), .interrupt(interrupt),
        .s_axi_control_awaddr(awaddr), .s_axi_control_awprot(3'd0), .s_axi_control_awvalid(awvalid), .s_axi_control_awready(awready),
        .s_axi_control_wdata(wdata), .s_axi_control_wstrb(4'd15), .s_axi_control_wvalid(wvalid), .s_axi_control_wready(wready),
        .s_axi_control_bresp(bresp), .s_axi_control_bvalid(bvalid), .s_axi_control_bready(bready),
        .s_axi_control_araddr(araddr), .s_axi_control_arprot(3'd0), .s_axi_control_arvalid(arvalid), .s_axi_control_arready(arready),
        .s_axi_control_rdata(rdata), .s_axi_control_rresp(rresp), .s_axi_control_rvalid(rvalid), .s_axi_control_rready(rready),
        .m_axi_commands_arid(c_arid), .m_axi_commands_araddr(c_araddr), .m_axi_commands_arlen(c_arlen), .m_axi_commands_arsize(c_arsize),
        .m_axi_commands_arburst(c_arburst), .m_axi_commands_arcache(c_arcache), .m_axi_commands_arprot(c_arprot),
        .m_axi_commands_arvalid(c_arvalid), .m_axi_commands_arready(c_arready), .m_axi_commands_rid(1'b0), .m_axi_commands_rdata(c_rdata),
        .m_axi_commands_rresp(c_rresp), .m_axi_commands_rlast(c_rlast), .m_axi_commands_rvalid(c_rvalid), .m_axi_commands_rready(c_rready),
        .m_axi_results_awid(r_awid), .m_axi_results_awaddr(r_awaddr), .m_axi_results_awlen(r_awlen), .m_axi_results_awsize(r_awsize),
        .m_axi_results_awburst(r_awburst), .m_axi_results_awcache(r_awcache), .m_axi_results_awprot(r_awprot),
        .m_axi_results_awvalid(r_awvalid), .m_axi_results_awready(r_awready), .m_axi_results_wdata(r_wdata), .m_axi_results_wstrb(r_wstrb),
        .m_axi_results_wlast(r_wlast), .m_axi_results_wvalid(r_wvalid), .m_axi_results_wready(r_wready), .m_axi_results_bid(1'b0),
        .m_axi_results_bresp(r_bresp), .m_axi_results_bvalid(r_bvalid), .m_axi_results_bready(r_bready)
    );

    // Bursts that were asked for, and the word that is due: the memory keeps eight of them.
    reg [15:0] asked_at [0:7];
    reg [8:0] asked [0:7];
    reg [3:0] asked_in = 0, asked_out = 0, some;
    reg [15:0] at;
    integer k;
    always @(negedge clk) if (rst_n) begin
        some = asked_in - asked_out;
        if (c_rvalid && c_rready_seen) c_rvalid <= 0;
        if ((!c_rvalid || c_rready_seen) && some != 0 && $random(seed) % 3 != 0) begin
            at = asked_at[asked_out[2:0]];
            for (k = 0; k < WORDS; k = k + 1) c_rdata[32 * k +: 32] <= memory[at + k];
            c_rresp <= at + WORDS > broken ? 2'd2 : 2'd0;
            c_rvalid <= 1;
            c_rlast <= asked[asked_out[2:0]] == 1;
            asked_at[asked_out[2:0]] = at + WORDS;
            asked[asked_out[2:0]] = asked[asked_out[2:0]] - 1;
            if (asked[asked_out[2:0]] == 0) asked_out = asked_out + 1;
        end
        c_arready <= some < 8 && !c_arready && $random(seed) % 2 == 0;
    end
    // What was seen at the rising edge.
    reg c_rready_seen = 0;
    always @(posedge clk) begin
        c_rready_seen <= c_rvalid && c_rready;
        if (c_arvalid && c_arready) begin
            if (c_araddr[11:0] + (c_arlen + 13'd1) * DATA / 8 > 4096 || c_arsize != $clog2(DATA / 8) || c_arburst != 1) $display("a wrong burst");
            asked_at[asked_in[2:0]] = c_araddr[17:2];
            asked[asked_in[2:0]] = c_arlen + 9'd1;
            asked_in = asked_in + 1;
        end
    end

    // One burst at a time is written, its data perhaps in front of its address.
    reg [15:0] put_at;
    reg put_open = 0, put_bad = 0;
    reg [8:0] put_left;
    integer answers = 0;
    always @(posedge clk) if (rst_n) begin
        if (r_awvalid && r_awready) begin
            if (r_awaddr[11:0] + (r_awlen + 13'd1) * DATA / 8 > 4096 || r_awsize != $clog2(DATA / 8) || r_awburst != 1) $display("a wrong burst");
            put_at = r_awaddr[17:2];
            put_left = r_awlen + 9'd1;
            put_open = 1;
        end
        if (r_wvalid && r_wready) begin
            for (k = 0; k < DATA / 8; k = k + 1)
                if (r_wstrb[k]) memory[put_at + k / 4][8 * (k % 4) +: 8] = r_wdata[8 * k +: 8];
            if (put_at + WORDS > broken) put_bad = 1;
            put_at = put_at + WORDS;
            put_left = put_left - 1;
            if (r_wlast != (put_left == 0)) $display("a wrong last beat");
            if (put_left == 0) begin put_open = 0; answers = answers + 1; end
        end
        if (r_bvalid && r_bready) begin answers = answers - 1; put_bad = 0; end
    end
    always @(negedge clk) begin
        r_awready <= !put_open && answers == 0 && !r_awready && $random(seed) % 2 == 0;
        r_wready <= put_open && $random(seed) % 3 != 0;
        r_bvalid <= answers != 0 && (r_bvalid || $random(seed) % 4 == 0);
        r_bresp <= {put_bad, 1'b0};
    end

    reg [7:0] what;
    reg [31:0] offset, value;
    integer got;
    initial begin
        if (!$value$plusargs("broken=%d", broken)) broken = 65536;
        repeat (4) @(negedge clk);
        rst_n = 1;
        got = $fscanf(STDIN, " %c %h", what, offset);
        while (got == 2) begin
            case (what)
                "w": begin
                    got = $fscanf(STDIN, " %h", value);
                    @(negedge clk);
                    awaddr = offset; wdata = value; awvalid = 1; wvalid = 1; bready = 1;
                    @(posedge clk); while (!(awready && wready)) @(posedge clk);
                    @(negedge clk); awvalid = 0; wvalid = 0;
                    while (!bvalid) @(negedge clk);
                    @(negedge clk); bready = 0;
                end
                "r": begin
                    @(negedge clk);
                    araddr = offset; arvalid = 1;
                    @(posedge clk); while (!arready) @(posedge clk);
                    @(negedge clk); arvalid = 0;
                    while (!rvalid) @(negedge clk);
                    $display("%h", rdata); $fflush;
                    rready = 1; @(negedge clk); rready = 0;
                end
                "p": begin got = $fscanf(STDIN, " %h", value); memory[offset] = value; end
                "g": begin $display("%h", memory[offset]); $fflush; end
                default: $finish;
            endcase
            got = $fscanf(STDIN, " %c %h", what, offset);
        end
        $finish;
    end
endmodule
