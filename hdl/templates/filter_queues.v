    // Pairs that pass the filters wait here for the pipeline, those of each filter in a queue of its own. The queues take turns: each
    // clock the next one in the circle that has a pair gives it. Two groups of targets can be under way, one in each half of what is
    // behind the pipeline; the first of them has ended when none of its pairs waits any more.
    localparam [@{count_bits - 1}@:0] LIMIT = @{count_bits}@'d@{limit}@;
    wire [@{filters - 1}@:0] some;
    wire [@{filters - 1}@:0] crowded;
    wire [@{filters - 1}@:0] grant;
    reg [@{filters - 1}@:0] granted;
    wire [@{width * filters - 1}@:0] words;
    genvar filter;
    generate
        for (filter = 0; filter < @{filters}@; filter = filter + 1) begin : queues
            @{attributes}@reg [@{width - 1}@:0] memory [0:@{depth - 1}@];
            reg [@{width - 1}@:0] word;
            reg [@{addr_bits - 1}@:0] write_at;
            reg [@{addr_bits - 1}@:0] read_at;
            reg [@{count_bits - 1}@:0] stored;
            reg has_some;
            reg is_crowded;
            assign some[filter] = has_some;
            assign crowded[filter] = is_crowded;
            assign words[@{width}@ * filter +: @{width}@] = word & {@{width}@{granted[filter]}};
            always @(posedge clk) begin
                if (push[filter]) memory[write_at] <= {% if width > 1 %}{data[@{width - 1}@ * filter +: @{width - 1}@], half}{% else %}half{% endif %};
                word <= memory[read_at];
                if (rst) begin
                    write_at <= @{addr_bits}@'d0;
                    read_at <= @{addr_bits}@'d0;
                    stored <= @{count_bits}@'d0;
                    has_some <= 1'b0;
                    is_crowded <= 1'b0;
                end else begin
                    if (push[filter]) write_at <= write_at + @{addr_bits}@'d1;
                    if (grant[filter]) read_at <= read_at + @{addr_bits}@'d1;
                    stored <= stored + {@{count_bits - 1}@'d0, push[filter]} - {@{count_bits - 1}@'d0, grant[filter]};
                    has_some <= push[filter] | (stored > @{count_bits}@'d1) | ((stored == @{count_bits}@'d1) & ~grant[filter]);
                    is_crowded <= stored > LIMIT;
                end
            end
        end
    endgenerate
    assign room = ~|crowded;

    // The queue that gives a pair, its word a clock later, and the pair another one later.
    reg [@{filters - 1}@:0] behind;    // the queues behind the one that gave the last pair
    wire [@{filters - 1}@:0] later = some & behind;
    wire [@{filters - 1}@:0] circle = (|later) ? later : some;
    assign grant = circle & (~circle + @{filters}@'d1);
    reg leaves;
    reg leaves_half;
    reg [@{lane_bits - 1}@:0] leaves_lane;
    reg [@{lane_bits - 1}@:0] granted_lane;
    integer n;
    always @* begin
        granted_lane = @{lane_bits}@'d0;
        for (n = 0; n < @{filters}@; n = n + 1)
            granted_lane = granted_lane | (n[@{lane_bits - 1}@:0] & {@{lane_bits}@{granted[n]}});
    end
    assign lane = leaves_lane;
    wire [@{width - 1}@:0] picked = {% for k in 0..filters %}{% if !loop.first %}
        | {% endif %}words[@{width * k + width - 1}@:@{width * k}@]{% endfor %};
    assign pair = leaves;
    assign pair_half = leaves_half;
{%- if width > 1 %}
    reg [@{width - 2}@:0] leaves_data;
    assign pair_data = leaves_data;
{%- endif %}
    always @(posedge clk) begin
        if (rst) begin
            granted <= @{filters}@'d0;
            leaves <= 1'b0;
            behind <= @{filters}@'d0;
        end else begin
            granted <= grant;
            leaves <= |granted;
            if (|grant) behind <= ~(grant | (grant - @{filters}@'d1));
        end
        leaves_half <= picked[0];
        leaves_lane <= granted_lane;
{%- if width > 1 %}
        leaves_data <= picked[@{width - 1}@:1];
{%- endif %}
    end

    // Pairs of each half that have come and not left, and the end of a group of targets: its last pairs came, and all have left.
    reg [@{total_bits - 1}@:0] waiting_0;
    reg [@{total_bits - 1}@:0] waiting_1;
    reg [@{pushed_bits - 1}@:0] pushed;
    reg pushed_half;
    wire [@{total_bits - 1}@:0] more = {@{total_bits - pushed_bits}@'d0, pushed};
    wire [@{total_bits - 1}@:0] fewer = {@{total_bits - 1}@'d0, leaves};
    reg last_came;
    reg last_half;
    reg ending;
    reg ending_half;
    assign ends = ending & (ending_half ? waiting_1 == @{total_bits}@'d0 : waiting_0 == @{total_bits}@'d0);
    assign shown_half = ending_half;
    assign none = (waiting_0 == @{total_bits}@'d0) & (waiting_1 == @{total_bits}@'d0) & ~ending;
    always @(posedge clk) begin
        pushed_half <= half;
        last_half <= half;
        if (rst) begin
            waiting_0 <= @{total_bits}@'d0;
            waiting_1 <= @{total_bits}@'d0;
            pushed <= @{pushed_bits}@'d0;
            last_came <= 1'b0;
            ending <= 1'b0;
            ending_half <= 1'b0;
        end else begin
            pushed <= {% for k in 0..filters %}{% if !loop.first %}
                + {% endif %}{@{pushed_bits - 1}@'d0, push[@{k}@]}{% endfor %};
            waiting_0 <= waiting_0 + (more & ~{@{total_bits}@{pushed_half}}) - (fewer & ~{@{total_bits}@{leaves_half}});
            waiting_1 <= waiting_1 + (more & {@{total_bits}@{pushed_half}}) - (fewer & {@{total_bits}@{leaves_half}});
            last_came <= last;
            ending <= last_came | (ending & ~ends);
            if (last_came) ending_half <= last_half;
        end
    end
