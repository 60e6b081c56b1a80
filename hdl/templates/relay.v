    // Two words in registers, so that no path leads from one side to the other: whether a word may come is known at the
    // beginning of a clock, and so is the word that leaves.
    reg [@{width - 1}@:0] front;
    reg [@{width - 1}@:0] behind;
    reg front_valid;
    reg behind_valid;
    wire moves = pop | ~front_valid;
    assign ready = ~behind_valid;
    assign valid = front_valid;
    assign rdata = front;
    always @(posedge clk) begin
        if (moves) front <= behind_valid ? behind : wdata;
        if (~behind_valid) behind <= wdata;
        if (rst) begin
            front_valid <= 1'b0;
            behind_valid <= 1'b0;
        end else begin
            if (moves) front_valid <= behind_valid | push;
            behind_valid <= ~moves & (behind_valid | push);
        end
    end
{% include "formal/relay.v" %}
