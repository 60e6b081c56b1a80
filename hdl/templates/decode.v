    // Reads the packets: takes words off the stream, gathers them into records, and hands these to the j memories, the
    // segment lists, the i registers of the lanes or the parameters.
    localparam [7:0] LOAD_J = 8'h@{load_j}@;
    localparam [7:0] PARAM  = 8'h@{param}@;
    localparam [7:0] RUN    = 8'h@{run}@;
    localparam [7:0] TARGET = 8'h@{i}@;
    localparam [7:0] STATUS = 8'h@{status}@;
    localparam [7:0] END    = 8'h@{end}@;
{%- if let Some(ident) = ident %}
    localparam [7:0] IDENT  = 8'h@{ident}@;
{%- endif %}

    localparam [3:0] HEAD       = 4'd0;  // take a packet's first word
    localparam [3:0] ARGS       = 4'd1;  // gather the words that LOAD_J and RUN have before their records
    localparam [3:0] CHECK      = 4'd2;  // judge them
    localparam [3:0] SPACE      = 4'd3;  // wait until the segment list has room
    localparam [3:0] SCAN       = 4'd4;  // the lists compare LOAD_J's range with the segments that are not done
    localparam [3:0] CONFLICT   = 4'd5;  // wait until the segments that it meets are done
{%- if has_params %}
    localparam [3:0] IDLE_LANES = 4'd6;  // PARAM waits until no pair is in flight
{%- endif %}
    localparam [3:0] BANK       = 4'd7;  // judge an I packet and wait for a bank of i registers
    localparam [3:0] RECORDS    = 4'd8;  // gather records
    localparam [3:0] CLOSE      = 4'd9;  // the packet has to end here
    localparam [3:0] REPLY      = 4'd10; // wait until all is done, then answer
    localparam [3:0] DISCARD    = 4'd11; // skip the rest of a wrong packet
    localparam [3:0] KIND       = 4'd12; // what packet is it
    localparam [3:0] SUM        = 4'd13; // add what LOAD_J and RUN say
    localparam [3:0] JUDGE      = 4'd14; // compare it

    localparam [31:0] LANES         = 32'd@{lanes}@;
    localparam [@{addr_bits + 1}@:0] J_RECORDS = @{addr_bits + 2}@'d@{jmem_records}@;
    localparam [23:0] SEGMENTS      = 24'd@{segments}@;

    reg [3:0] state;
    reg [23:0] argument;
    reg ended;            // the beat with TLAST has been used up
    reg error;
    reg settled;          // in this state since the last cycle
{%- if spread %}
    // Lane groups hear of a state a clock later, and are heard another clock later.
    reg settled_2;
    reg settled_3;        // for three cycles more
    wire heard = settled_3;
{%- else %}
    wire heard = settled;
{%- endif %}
    reg [@{items_bits - 1}@:0] items; // records still to come
    reg last_item;        // one of them
    reg no_items;         // a run without segments
    reg is_load;          // what packet it is
    reg is_param;
    reg is_run;
    reg is_target;
    reg is_status;
    reg is_end;
{%- if ident.is_some() %}
    reg is_ident;
{%- endif %}

    // The words in view: `window` holds the next words of this packet, the first one lowest.
    wire take;            // take `need` words
    wire retire;          // drop the rest of the beat
{% if beat_words == 1 %}
    wire view_valid = w_valid;
    wire view_last = w_last;
    wire [31:0] window = w_data;
    wire at_start = 1'b1;
    wire enough = w_valid;
    wire short = 1'b0;
    wire used_up = 1'b1;
    assign w_pop = w_valid & (take | retire);
{% else %}
    // Records straddle beats, so the view is `position` words into the beat `view` and the one behind it.
    reg [@{stream_bits - 1}@:0] view;
    reg view_valid;
    reg view_last;
    reg [@{beat_bits - 1}@:0] position;
    reg [@{beat_bits}@:0] need;
    reg [@{stream_bits - 1}@:0] window;
    always @* begin
        case (position)
{%- for k in 1..beat_words %}
            @{beat_bits}@'d@{k}@: window = {w_data[@{32 * k - 1}@:0], view[@{stream_bits - 1}@:@{32 * k}@]};
{%- endfor %}
            default: window = view;
        endcase
    end
    wire at_start = position == @{beat_bits}@'d0;
    wire [@{beat_bits}@:0] position_next = {1'b0, position} + need;
    wire straddles = position_next > @{beat_bits + 1}@'d@{beat_words}@;
    wire enough = view_valid & (~straddles | (w_valid & ~view_last));
    wire short = view_valid & view_last & straddles;
    wire used_up = position_next[@{beat_bits}@];
    wire advance = (take & used_up) | retire | ~view_valid;
    assign w_pop = w_valid & advance;
    always @(posedge clk) begin
        if (advance) begin
            view <= w_data;
            view_last <= w_last;
        end
        if (rst) begin
            view_valid <= 1'b0;
            position <= @{beat_bits}@'d0;
        end else begin
            if (advance) view_valid <= w_valid;
            if (retire) position <= @{beat_bits}@'d0;
            else if (take) position <= position_next[@{beat_bits - 1}@:0];
        end
    end
{% endif %}
    // Records gather in `record`, as many words a step as a beat has. Whoever takes a finished record does so in the
    // one cycle after its last step, while the first words of the next one are on their way.
    reg [@{32 * record_words - 1}@:0] record;
    reg [@{step_bits - 1}@:0] step;
    reg [@{step_bits - 1}@:0] last_step;
    wire whole = step == last_step;
{%- if beat_words == 1 %}
    always @(posedge clk) begin
        if ((state == KIND) & is_run) last_step <= @{args_run.last_step}@;
        else if ((state == KIND) & is_load) last_step <= @{args_load.last_step}@;
        else if ((state == KIND) & is_target) last_step <= @{record_i.last_step}@;
        else if (state == KIND) last_step <= @{record_param.last_step}@;
{%- if tables.len() > 0 %}
        else if (finished & (state == RECORDS) & is_param) last_step <= @{step_bits}@'d0;
{%- endif %}
        else if (state == SUM) last_step <= is_run ? @{record_segment.last_step}@ : @{record_j.last_step}@;
    end
{%- else %}
    reg [@{beat_bits}@:0] last_need;
    always @(posedge clk) begin
        if ((state == KIND) & is_run) {last_step, last_need} <= {@{args_run.last_step}@, @{args_run.last_need}@};
        else if ((state == KIND) & is_load) {last_step, last_need} <= {@{args_load.last_step}@, @{args_load.last_need}@};
        else if ((state == KIND) & is_target) {last_step, last_need} <= {@{record_i.last_step}@, @{record_i.last_need}@};
        else if (state == KIND) {last_step, last_need} <= {@{record_param.last_step}@, @{record_param.last_need}@};
{%- if tables.len() > 0 %}
        else if (finished & (state == RECORDS) & is_param) {last_step, last_need} <= {@{step_bits}@'d0, @{beat_bits + 1}@'d1};
{%- endif %}
        else if (state == SUM) {last_step, last_need} <= is_run ? {@{record_segment.last_step}@, @{record_segment.last_need}@}
                                                               : {@{record_j.last_step}@, @{record_j.last_need}@};
    end
    always @* begin
        if (state == HEAD) need = @{beat_bits + 1}@'d1;
        else need = whole ? last_need : @{beat_bits + 1}@'d@{beat_words}@;
    end
{%- endif %}
    wire [31:0] first = record[31:0];
    wire [31:0] second = record[63:32];
    wire [31:0] third = record[95:64];
    wire [@{items_bits - 1}@:0] said = is_run ? @{run_items}@ : second[@{items_bits - 1}@:0];
    wire gathering = (state == ARGS) | (state == RECORDS);
    wire gather = gathering & enough & ~ended;
    wire finished = gather & whole;
    assign take = gather | ((state == HEAD) & enough);
    always @(posedge clk) begin
{%- for step in steps %}
        if (gather & (step == @{step.index}@)) record[@{step.high}@:@{step.low}@] <= window[@{step.width - 1}@:0];
{%- endfor %}
        if (rst | (state == HEAD) | finished) step <= @{step_bits}@'d0;
        else if (gather) step <= step + @{step_bits}@'d1;
    end

    wire known = is_load | is_param | is_run | is_target | is_status | is_end{% if ident.is_some() %} | is_ident{% endif %};

    // The current run; its segments go to the list without the empty ones.
    reg [31:0] run_tag;
    reg [31:0] new_tag;
    reg [31:0] new_waiting;
    reg [31:0] waiting;    // targets still to come
    reg run_keep;
    reg run_hold;
    reg none_waiting;
    reg more_than_lanes;
    reg [31:0] waiting_next;
    reg segment_valid;
    reg segment_checked;
    reg segment_wrong;
    reg segment_judged;
    reg writing;           // segments are still on their way to the lists
    // A range is added up while its record is in `record`, and judged a cycle later.
    reg range_far;         // beyond any memory
    reg [@{addr_bits + 1}@:0] range_end;
    reg [@{addr_bits - 1}@:0] range_start;
    reg [@{addr_bits}@:0] range_count;
    reg outside;
    reg no_range;
    reg [@{addr_bits - 1}@:0] judged_start;
    reg [@{addr_bits}@:0] judged_count;
    reg judged_one;
    reg [@{addr_bits}@:0] judged_end;
    always @(posedge clk) begin
        range_far <= (first[31:@{addr_bits + 1}@] != @{31 - addr_bits}@'d0) | (second[31:@{addr_bits + 1}@] != @{31 - addr_bits}@'d0);
        range_end <= {1'b0, first[@{addr_bits}@:0]} + {1'b0, second[@{addr_bits}@:0]};
        range_start <= first[@{addr_bits - 1}@:0];
        range_count <= second[@{addr_bits}@:0];
        outside <= range_far | (range_end > J_RECORDS);
        no_range <= range_count == @{addr_bits + 1}@'d0;
        judged_start <= range_start;
        judged_count <= range_count;
        judged_one <= range_count == @{addr_bits + 1}@'d1;
        judged_end <= range_end[@{addr_bits}@:0];
    end
    wire [@{n_bits - 1}@:0] due = more_than_lanes ? @{n_bits}@'d@{lanes}@ : waiting[@{n_bits - 1}@:0];
    // Told a cycle late, which is still before anything can follow.
    reg ends_run;
    always @(posedge clk) ends_run <= ~rst & (state == KIND) & (is_run | is_end);

    wire closing = (state == CLOSE) & ~writing;
    wire closed = closing & (ended | (view_valid & view_last & ~at_start));
    wire too_long = closing & ~ended & view_valid & (~view_last | at_start);
    assign load_data = @{pack_j}@;
    assign i_word = @{pack_i}@;
{%- if let Some(padding) = padding %}
    wire unused = &{1'b0, @{padding}@};
{%- endif %}
{%- if has_params %}

{% if tables.len() > 0 -%}
{%- if has_registers %}
    // What is no table comes first, in one record.
    reg behind;           // it is there
    reg registers_taken;
    always @(posedge clk) begin
        if (state == KIND) behind <= 1'b0;
        else if (finished & (state == RECORDS) & is_param) behind <= 1'b1;
        registers_taken <= finished & (state == RECORDS) & is_param & ~behind & ~rst;
    end
    reg [@{param_bits - 1}@:0] param_word;
    assign param = param_word;
    always @(posedge clk) if (registers_taken) param_word <= @{pack_param}@;
    assign param_we = registers_taken | table_taken;
{%- else %}
    wire behind = 1'b1;
    assign param_we = table_taken;
{%- endif %}
    // The words of tables come one by one, and leave for the memories of the lanes as entries.
    reg table_taken;
    reg [@{table_bits - 1}@:0] table_at;
    always @(posedge clk) begin
        table_taken <= finished & (state == RECORDS) & is_param & behind & ~rst;
        if (state == KIND) table_at <= @{table_bits}@'d0;
        else if (table_taken) table_at <= table_at + @{table_bits}@'d1;
    end
{%- if table_low %}
    reg [31:0] table_low;
    always @(posedge clk) if (table_taken) table_low <= record[31:0];
{%- endif %}
{%- for table in tables %}
    wire @{table.port}@_here = @{table.here}@;
    wire [@{table.place_bits - 1}@:0] @{table.port}@_place = table_at[@{table.place_bits - 1}@:0] - @{table.first}@;
    reg [@{table.port_bits - 1}@:0] @{table.port}@_entry;
    always @(posedge clk) @{table.port}@_entry <= {@{table.whole}@, @{table.at}@, @{table.entry}@};
    assign @{table.port}@ = @{table.port}@_entry;
{%- endfor %}
{%- else %}
    reg [@{param_bits - 1}@:0] param_word;
    assign param_we = closed & is_param;
    assign param = param_word;
    always @(posedge clk) if (param_we) param_word <= @{pack_param}@;
{%- endif %}
{%- endif %}

    assign segment_we = segment_judged & ~outside & ~no_range;
    assign segment_first = judged_start;
    assign segment_count = judged_count;
    assign segment_one = judged_one;
    assign segment_end = judged_end;
    assign run_begin = state == SPACE;
    assign run_items = items[@{ring_bits}@:0];
    // Whoever keeps lists is told a cycle late that a run or a group of targets is whole; what describes it stays as long.
    wire take_run = closed & is_run & ~segment_wrong;
    wire take_group = closed & is_target;
    reg run_told;
    reg group_told;
    always @(posedge clk) begin
        run_told <= take_run & ~rst;
        group_told <= take_group & ~rst;
    end
    assign run_taken = run_told;
    assign group_push = group_told;
    assign run_waits = new_waiting != 32'd0;
{%- if groups > 1 %}

    // The lane group that the run names.
    reg [@{groups - 1}@:0] run_group;
    assign chosen = run_group;
    always @(posedge clk)
        if ((state == CHECK) & is_run) run_group <= @{groups}@'d1 << third[31:24];
{%- endif %}

    // LOAD_J: its range, and where the next record goes.
    reg [@{addr_bits - 1}@:0] load_at;
    reg [@{addr_bits}@:0] range_first;
    reg [@{addr_bits}@:0] range_last;
    reg load_valid;
    assign load_we = load_valid;
    assign load_addr = load_at;
    assign load_check = state == CHECK;
    assign load_scan = state == SCAN;
    assign load_first = range_first;
    assign load_end = range_last;

    // The group that is being loaded.
    reg [@{lanes - 1}@:0] lane;
    reg [@{lanes - 1}@:0] lane_we;
    reg [@{result_bits - 1}@:0] result_count;
    assign i_we = lane_we;

    reg wrong_target;
    reg wrong_run;
    assign retire = (closed & ~ended) | ((state == DISCARD) & view_valid);
    assign group_tag = run_tag;
    assign group_n = argument[@{n_bits - 1}@:0];
    assign group_beats = result_count[@{result_bits - 1}@:@{beat_bits}@];
    assign group_keep = run_keep;
    assign group_hold = run_hold;
    assign group_final = ~more_than_lanes;
    assign first_target = (state == BANK) & ~wrong_target;
    assign reply = state == REPLY;
    assign reply_end = is_end;
{%- if ident.is_some() %}
    assign reply_ident = is_ident;
{%- endif %}
    assign clear = replied & is_status & argument[0];
    assign protocol_error = error;
{%- if has_params %}
    // Before the first parameters a run would compute with nothing.
    reg params_set;
    always @(posedge clk)
        if (rst) params_set <= 1'b0;
        else if (closed & is_param) params_set <= 1'b1;
{%- endif %}

    always @(posedge clk) begin
        none_waiting <= waiting == 32'd0;
        more_than_lanes <= waiting > LANES;
        waiting_next <= waiting - {@{32 - n_bits}@'d0, due};
        wrong_target <= none_waiting | (argument[23:@{n_bits}@] != @{24 - n_bits}@'d0) | (argument[@{n_bits - 1}@:0] != due);
        wrong_run <= {% if has_params %}~params_set | {% endif %}(third[31:24] > 8'd@{groups - 1}@) | (third[23:0] > SEGMENTS) | (argument[23:2] != 22'd0)
            | ((argument[1:0] != 2'd0) & (second > LANES));
    end


    // What is wrong in this cycle.
    reg fail;
    always @* begin
        case (state)
            KIND: fail = ~known;
            ARGS: fail = ended | short;
            CHECK: fail = is_run ? wrong_run : outside;
            BANK: fail = wrong_target;
            RECORDS: fail = ended | short;
            CLOSE: fail = too_long | (closed & is_run & segment_wrong);
            default: fail = 1'b0;
        endcase
    end

    always @(posedge clk) begin
        if (rst) begin
            state <= HEAD;
        end else if (fail) begin
            state <= (ended | closed) ? HEAD : DISCARD;
        end else begin
            case (state)
                HEAD: if (enough) state <= KIND;
                KIND: case (1'b1)
                    is_load, is_run: state <= ARGS;
                    is_param: state <= @{param_state}@;
                    is_target: state <= BANK;
                    default: state <= CLOSE;
                endcase
                ARGS: if (finished) state <= SUM;
                SUM: state <= JUDGE;
                JUDGE: state <= CHECK;
                CHECK: if (is_run) state <= SPACE;
                    else if (no_range) state <= CLOSE;
                    else state <= lanes_free ? RECORDS : SCAN;
                // What the lists say of it comes a cycle late.
                SPACE: if (heard & run_fits) state <= no_items ? CLOSE : RECORDS;
                SCAN: if (heard & load_apart) state <= RECORDS;
                    else if (heard & load_scanned) state <= CONFLICT;
                CONFLICT: if (load_clear) state <= RECORDS;{%- if has_params %}
                IDLE_LANES: if ({% if spread %}settled & {% endif %}lanes_free & drained) state <= RECORDS;
{%- endif %}
                BANK: if ({% if spread %}settled & {% endif %}bank_free) state <= RECORDS;
                RECORDS: if (finished & last_item) state <= CLOSE;
                CLOSE: if (closed) state <= (is_status | is_end{% if ident.is_some() %} | is_ident{% endif %}) ? REPLY : HEAD;
                REPLY: if (replied) state <= HEAD;
                default: if (view_valid & view_last) state <= HEAD;
            endcase
        end
    end

    always @(posedge clk) begin
{%- if spread %}
        settled <= (state == SPACE) | (state == SCAN) | (state == BANK){% if has_params %} | (state == IDLE_LANES){% endif %};
        settled_2 <= settled & ((state == SPACE) | (state == SCAN));
        settled_3 <= settled_2 & ((state == SPACE) | (state == SCAN));
{%- else %}
        settled <= (state == SPACE) | (state == SCAN);
{%- endif %}
        if (take & (state == HEAD)) begin
            is_load <= window[31:24] == LOAD_J;
            is_param <= window[31:24] == PARAM;
            is_run <= window[31:24] == RUN;
            is_target <= window[31:24] == TARGET;
            is_status <= window[31:24] == STATUS;
            is_end <= window[31:24] == END;
{%- if ident.is_some() %}
            is_ident <= window[31:24] == IDENT;
{%- endif %}
            argument <= window[23:0];
        end
        if (rst) ended <= 1'b0;
        else if (take) ended <= used_up & view_last;

        if (rst | clear) error <= 1'b0;
        else if (fail) error <= 1'b1;
        else if (ends_run & ~none_waiting) error <= 1'b1;

        // `last_item` is told together with `items`.
        case (state)
            KIND: begin
{%- if tables.len() > 0 %}
                items <= is_param ? @{items_bits}@'d@{param_items}@ : @{items_bits}@'d1;
                last_item <= ~is_param{% if param_items == 1 %} | is_param{% endif %};
{%- else %}
                items <= @{items_bits}@'d1;
                last_item <= 1'b1;
{%- endif %}
            end
            CHECK: begin
                items <= said;
                last_item <= said == @{items_bits}@'d1;
                no_items <= said == @{items_bits}@'d0;
            end
            BANK: begin
                items <= @{argument_items}@;
                last_item <= @{argument_items}@ == @{items_bits}@'d1;
            end
            RECORDS: if (finished) begin
                items <= items - @{items_bits}@'d1;
                last_item <= items == @{items_bits}@'d2;
            end
            default: ;
        endcase
    end

    // Runs.
    always @(posedge clk) begin
        if (rst) begin
            waiting <= 32'd0;
            segment_valid <= 1'b0;
            segment_checked <= 1'b0;
            segment_judged <= 1'b0;
            writing <= 1'b0;
        end else begin
            segment_valid <= finished & (state == RECORDS) & is_run;
            segment_checked <= segment_valid;
            segment_judged <= segment_checked;
            writing <= (finished & (state == RECORDS) & is_run) | segment_valid | segment_checked;
            if (ends_run) waiting <= 32'd0;
            else if (take_group) waiting <= waiting_next;
            else if (take_run) waiting <= new_waiting;
        end
        if ((state == CHECK) & is_run & ~wrong_run) begin
            new_tag <= first;
            new_waiting <= second;
        end
        if (take_run) begin
            run_tag <= new_tag;
            run_keep <= argument[0];
            run_hold <= argument[1];
        end
        if (state == SPACE) segment_wrong <= 1'b0;
        else if (segment_judged & outside) segment_wrong <= 1'b1;
    end

    // Loads of the j memories.
    always @(posedge clk) begin
        if (state == CHECK) begin
            range_first <= {1'b0, judged_start};
            range_last <= judged_end;
        end
        if (state == CHECK) load_at <= judged_start;
        else if (load_valid) load_at <= load_at + @{addr_bits}@'d1;
        load_valid <= ~rst & finished & (state == RECORDS) & is_load;
    end

    // Groups of targets.
    always @(posedge clk) begin
        if (state == BANK) begin
            lane <= @{lanes}@'d1;
            result_count <= @{result_bits}@'d@{result_start}@;
        end else if (finished) begin
            lane <= {% if lanes > 1 %}lane << 1{% else %}1'b0{% endif %};
            result_count <= result_count + @{result_bits}@'d@{result_words}@;
        end
        if (finished & (state == RECORDS) & is_target) lane_we <= lane;
        else lane_we <= @{lanes}@'d0;
    end
