module sub_int32_int32 (
    input  wire clk,
    input  wire [31:0] a,
    input  wire [31:0] b,
    output wire [31:0] q
);
    // stage 0
    wire [31:0] sub = a - b;
    // stage 1
    reg [31:0] sub_s1;
    always @(posedge clk) sub_s1 <= sub;
    assign q = sub_s1;
endmodule

module tofloat_int32_float18_9 (
    input  wire clk,
    input  wire [31:0] a,
    output wire [17:0] q
);
    // stage 0
    wire [30:0] low = a[30:0];
    wire sign = a[31];
    wire [30:0] magnitude = low ^ {31{sign}};
    wire clear = ~|magnitude[30:15];
    wire [30:0] norm = clear ? {magnitude[14:0], {16{sign}}} : magnitude;
    wire clear_2 = ~|norm[30:23];
    // stage 1
    reg sign_s1;
    always @(posedge clk) sign_s1 <= sign;
    reg clear_s1;
    always @(posedge clk) clear_s1 <= clear;
    reg [30:0] norm_s1;
    always @(posedge clk) norm_s1 <= norm;
    reg clear_2_s1;
    always @(posedge clk) clear_2_s1 <= clear_2;
    wire [30:0] norm_2 = clear_2_s1 ? {norm_s1[22:0], {8{sign_s1}}} : norm_s1;
    wire clear_3 = ~|norm_2[30:27];
    wire [30:0] norm_3 = clear_3 ? {norm_2[26:0], {4{sign_s1}}} : norm_2;
    wire clear_4 = ~|norm_3[30:29];
    wire [30:0] norm_4 = clear_4 ? {norm_3[28:0], {2{sign_s1}}} : norm_3;
    wire clear_5 = ~|norm_4[30];
    // stage 2
    reg sign_s2;
    always @(posedge clk) sign_s2 <= sign_s1;
    reg clear_s2;
    always @(posedge clk) clear_s2 <= clear_s1;
    reg clear_2_s2;
    always @(posedge clk) clear_2_s2 <= clear_2_s1;
    reg clear_3_s2;
    always @(posedge clk) clear_3_s2 <= clear_3;
    reg clear_4_s2;
    always @(posedge clk) clear_4_s2 <= clear_4;
    reg [30:0] norm_4_s2;
    always @(posedge clk) norm_4_s2 <= norm_4;
    reg clear_5_s2;
    always @(posedge clk) clear_5_s2 <= clear_5;
    wire [30:0] norm_5 = clear_5_s2 ? {norm_4_s2[29:0], sign_s2} : norm_4_s2;
    wire [1:0] near = norm_5[21:20];
    wire any = |(norm_5[15:0] ^ {16{sign_s2}});
    wire any_2 = |(norm_5[19:16] ^ {4{sign_s2}});
    wire any_3 = any | any_2;
    wire up = sign_s2 ? near[0] | (~any_3 & near[1]) : near[0] & (any_3 | near[1]);
    // stage 3
    reg sign_s3;
    always @(posedge clk) sign_s3 <= sign_s2;
    reg clear_s3;
    always @(posedge clk) clear_s3 <= clear_s2;
    reg clear_2_s3;
    always @(posedge clk) clear_2_s3 <= clear_2_s2;
    reg clear_3_s3;
    always @(posedge clk) clear_3_s3 <= clear_3_s2;
    reg clear_4_s3;
    always @(posedge clk) clear_4_s3 <= clear_4_s2;
    reg clear_5_s3;
    always @(posedge clk) clear_5_s3 <= clear_5_s2;
    reg [9:0] norm_5_s3;
    always @(posedge clk) norm_5_s3 <= norm_5[30:21];
    reg up_s3;
    always @(posedge clk) up_s3 <= up;
    wire [4:0] count = {clear_s3, clear_2_s3, clear_3_s3, clear_4_s3, clear_5_s3};
    wire nonzero = norm_5_s3[9];
    wire [8:0] fraction = norm_5_s3[8:0];
    wire [16:0] rounded = {8'd158, fraction} + {{{3{1'b1}}, ~count}, 8'd0, up_s3};
    wire [17:0] bounded = {18{(nonzero)}} & {sign_s3, rounded};
    // stage 4
    reg [17:0] bounded_s4;
    always @(posedge clk) bounded_s4 <= bounded;
    assign q = bounded_s4;
endmodule

module fmul_float18_9_float18_9 (
    input  wire clk,
    input  wire [17:0] a,
    input  wire [17:0] b,
    output wire [17:0] q,
    output wire [1:0] f
);
    // stage 0
    wire sign = a[17];
    wire sign_2 = b[17];
    wire sign_3 = sign ^ sign_2;
    wire [7:0] exp_a = a[16:9];
    wire [7:0] exp_b = b[16:9];
    wire nonzero = |exp_a & |exp_b;
    wire [9:0] exp = {{3{~exp_a[7]}}, exp_a[6:0]} + {2'd0, exp_b};
    wire [9:0] significand = {1'b1, a[8:0]};
    wire [9:0] significand_2 = {1'b1, b[8:0]};
    // stage 1
    reg sign_3_s1;
    always @(posedge clk) sign_3_s1 <= sign_3;
    reg nonzero_s1;
    always @(posedge clk) nonzero_s1 <= nonzero;
    reg [9:0] exp_s1;
    always @(posedge clk) exp_s1 <= exp;
    reg [19:0] product;
    always @(posedge clk) product <= {10'd0, significand} * {10'd0, significand_2};
    wire two = product[19];
    wire [8:0] fraction = two ? product[18:10] : product[17:9];
    wire [2:0] near = product[10:8];
    wire any = |product[7:0];
    wire up = two ? near[1] & (any | near[0] | near[2]) : near[0] & (any | near[1]);
    wire [18:0] rounded = {exp_s1, fraction} + {8'd0, two, ~two, 8'd0, up};
    // stage 2
    reg sign_3_s2;
    always @(posedge clk) sign_3_s2 <= sign_3_s1;
    reg nonzero_s2;
    always @(posedge clk) nonzero_s2 <= nonzero_s1;
    reg [18:0] rounded_s2;
    always @(posedge clk) rounded_s2 <= rounded;
    wire [9:0] exp_2 = rounded_s2[18:9];
    wire above = nonzero_s2 & ~exp_2[9] & (|exp_2[8] | &exp_2[7:0]);
    wire below = nonzero_s2 & (exp_2[9] | ~|exp_2);
    wire [16:0] low = rounded_s2[16:0];
    wire [17:0] bounded = {18{(~below & nonzero_s2)}} & (above ? {sign_3_s2, {7{1'b1}}, 1'd0, {9{1'b1}}} : {sign_3_s2, low});
    // stage 3
    reg above_s3;
    always @(posedge clk) above_s3 <= above;
    reg below_s3;
    always @(posedge clk) below_s3 <= below;
    reg [17:0] bounded_s3;
    always @(posedge clk) bounded_s3 <= bounded;
    wire [1:0] flags = {below_s3, above_s3};
    assign q = bounded_s3;
    assign f = flags;
endmodule

module fadd_float18_9_float18_9_p3 (
    input  wire clk,
    input  wire [17:0] a,
    input  wire [17:0] b,
    output wire [17:0] q,
    output wire f
);
    // stage 0
    wire swap = a[16:0] < b[16:0];
    wire [16:0] larger = swap ? b[16:0] : a[16:0];
    wire [16:0] smaller = swap ? a[16:0] : b[16:0];
    wire [7:0] exp_big = larger[16:9];
    wire [7:0] exp_small = smaller[16:9];
    wire [7:0] distance = exp_big - exp_small;
    wire any_2 = |exp_small;
    wire any_3 = |distance[7:4];
    // stage 1
    reg [8:0] larger_s1;
    always @(posedge clk) larger_s1 <= larger[8:0];
    reg [8:0] smaller_s1;
    always @(posedge clk) smaller_s1 <= smaller[8:0];
    reg [7:0] exp_big_s1;
    always @(posedge clk) exp_big_s1 <= exp_big;
    reg [3:0] distance_s1;
    always @(posedge clk) distance_s1 <= distance[3:0];
    reg any_2_s1;
    always @(posedge clk) any_2_s1 <= any_2;
    reg any_3_s1;
    always @(posedge clk) any_3_s1 <= any_3;
    wire any = |exp_big_s1;
    wire [8:0] fraction_2 = smaller_s1;
    wire [9:0] significand_2 = {any_2_s1, fraction_2};
    wire [3:0] amount = distance_s1;
    wire [1:0] digit = amount[1:0];
    wire [10:0] shifted = digit[1] ? (digit[0] ? {3'd0, significand_2[9:2]} : {2'd0, significand_2[9:1]}) : (digit[0] ? {1'd0, significand_2} : {significand_2, 1'd0});
    wire sticky = digit[1] ? (digit[0] ? |significand_2[1:0] : |significand_2[0]) : (digit[0] ? 1'b0 : 1'b0);
    wire [1:0] digit_2 = amount[3:2];
    wire [10:0] shifted_2 = digit_2[1] ? (digit_2[0] ? 11'd0 : {8'd0, shifted[10:8]}) : (digit_2[0] ? {4'd0, shifted[10:4]} : shifted);
    wire sticky_2 = sticky | (digit_2[1] ? (digit_2[0] ? |shifted : |shifted[7:0]) : (digit_2[0] ? |shifted[3:0] : 1'b0));
    wire [11:0] aligned = any_3_s1 ? {11'd0, any_2_s1} : {shifted_2, sticky_2};
    // stage 2
    reg [8:0] larger_s2;
    always @(posedge clk) larger_s2 <= larger_s1;
    reg [7:0] exp_big_s2;
    always @(posedge clk) exp_big_s2 <= exp_big_s1;
    reg any_s2;
    always @(posedge clk) any_s2 <= any;
    reg [11:0] aligned_s2;
    always @(posedge clk) aligned_s2 <= aligned;
    wire [8:0] fraction = larger_s2;
    wire [9:0] significand = {any_s2, fraction};
    wire [1:0] tail = aligned_s2[1:0];
    wire [9:0] addend = aligned_s2[11:2];
    wire [10:0] sum = {1'b0, significand} + {1'b0, addend};
    wire carry = sum[10];
    wire [8:0] fraction_3 = carry ? sum[9:1] : sum[8:0];
    wire up = carry ? sum[0] & (|tail | sum[1]) : tail[1] & (tail[0] | sum[0]);
    wire [16:0] rounded = {exp_big_s2, fraction_3} + {7'd0, carry, 8'd0, up};
    // stage 3
    reg [16:0] rounded_s3;
    always @(posedge clk) rounded_s3 <= rounded;
    wire [7:0] exp = rounded_s3[16:9];
    wire above = (&exp);
    wire [17:0] bounded = (above ? {1'd0, {7{1'b1}}, 1'd0, {9{1'b1}}} : {1'd0, rounded_s3});
    // stage 4
    reg above_s4;
    always @(posedge clk) above_s4 <= above;
    reg [17:0] bounded_s4;
    always @(posedge clk) bounded_s4 <= bounded;
    assign q = bounded_s4;
    assign f = above_s4;
    wire unused = &{1'b0, a[17], b[17]};
endmodule

module pow_float18_9_nm1_d2_p1 (
    input  wire clk,
    input  wire [17:0] a,
    output wire [17:0] q
);
    // stage 0
    wire nonzero = |a[16:9];
    wire [9:0] index = a[9:0];
    wire carry = a[9:0] == 10'd512;
    wire [7:0] field = a[16:9];
    wire [10:0] sum = {10'd190, 1'd1} + {3'd7, ~field[7:1], ~field[0] | carry};
    wire [9:0] exponent = sum[10:1];
    // stage 1
    reg nonzero_s1;
    always @(posedge clk) nonzero_s1 <= nonzero;
    reg [7:0] exponent_s1;
    always @(posedge clk) exponent_s1 <= exponent[7:0];
    reg [8:0] row_rom [0:1023];
    initial begin
        row_rom[0] = 9'h0d4;
        row_rom[1] = 9'h0d3;
        row_rom[2] = 9'h0d3;
        row_rom[3] = 9'h0d2;
        row_rom[4] = 9'h0d1;
        row_rom[5] = 9'h0d1;
        row_rom[6] = 9'h0d0;
        row_rom[7] = 9'h0cf;
        row_rom[8] = 9'h0ce;
        row_rom[9] = 9'h0ce;
        row_rom[10] = 9'h0cd;
        row_rom[11] = 9'h0cc;
        row_rom[12] = 9'h0cc;
        row_rom[13] = 9'h0cb;
        row_rom[14] = 9'h0ca;
        row_rom[15] = 9'h0ca;
        row_rom[16] = 9'h0c9;
        row_rom[17] = 9'h0c8;
        row_rom[18] = 9'h0c8;
        row_rom[19] = 9'h0c7;
        row_rom[20] = 9'h0c6;
        row_rom[21] = 9'h0c6;
        row_rom[22] = 9'h0c5;
        row_rom[23] = 9'h0c4;
        row_rom[24] = 9'h0c4;
        row_rom[25] = 9'h0c3;
        row_rom[26] = 9'h0c2;
        row_rom[27] = 9'h0c2;
        row_rom[28] = 9'h0c1;
        row_rom[29] = 9'h0c0;
        row_rom[30] = 9'h0c0;
        row_rom[31] = 9'h0bf;
        row_rom[32] = 9'h0be;
        row_rom[33] = 9'h0be;
        row_rom[34] = 9'h0bd;
        row_rom[35] = 9'h0bd;
        row_rom[36] = 9'h0bc;
        row_rom[37] = 9'h0bb;
        row_rom[38] = 9'h0bb;
        row_rom[39] = 9'h0ba;
        row_rom[40] = 9'h0b9;
        row_rom[41] = 9'h0b9;
        row_rom[42] = 9'h0b8;
        row_rom[43] = 9'h0b7;
        row_rom[44] = 9'h0b7;
        row_rom[45] = 9'h0b6;
        row_rom[46] = 9'h0b6;
        row_rom[47] = 9'h0b5;
        row_rom[48] = 9'h0b4;
        row_rom[49] = 9'h0b4;
        row_rom[50] = 9'h0b3;
        row_rom[51] = 9'h0b3;
        row_rom[52] = 9'h0b2;
        row_rom[53] = 9'h0b1;
        row_rom[54] = 9'h0b1;
        row_rom[55] = 9'h0b0;
        row_rom[56] = 9'h0af;
        row_rom[57] = 9'h0af;
        row_rom[58] = 9'h0ae;
        row_rom[59] = 9'h0ae;
        row_rom[60] = 9'h0ad;
        row_rom[61] = 9'h0ac;
        row_rom[62] = 9'h0ac;
        row_rom[63] = 9'h0ab;
        row_rom[64] = 9'h0ab;
        row_rom[65] = 9'h0aa;
        row_rom[66] = 9'h0a9;
        row_rom[67] = 9'h0a9;
        row_rom[68] = 9'h0a8;
        row_rom[69] = 9'h0a8;
        row_rom[70] = 9'h0a7;
        row_rom[71] = 9'h0a7;
        row_rom[72] = 9'h0a6;
        row_rom[73] = 9'h0a5;
        row_rom[74] = 9'h0a5;
        row_rom[75] = 9'h0a4;
        row_rom[76] = 9'h0a4;
        row_rom[77] = 9'h0a3;
        row_rom[78] = 9'h0a3;
        row_rom[79] = 9'h0a2;
        row_rom[80] = 9'h0a1;
        row_rom[81] = 9'h0a1;
        row_rom[82] = 9'h0a0;
        row_rom[83] = 9'h0a0;
        row_rom[84] = 9'h09f;
        row_rom[85] = 9'h09f;
        row_rom[86] = 9'h09e;
        row_rom[87] = 9'h09d;
        row_rom[88] = 9'h09d;
        row_rom[89] = 9'h09c;
        row_rom[90] = 9'h09c;
        row_rom[91] = 9'h09b;
        row_rom[92] = 9'h09b;
        row_rom[93] = 9'h09a;
        row_rom[94] = 9'h09a;
        row_rom[95] = 9'h099;
        row_rom[96] = 9'h098;
        row_rom[97] = 9'h098;
        row_rom[98] = 9'h097;
        row_rom[99] = 9'h097;
        row_rom[100] = 9'h096;
        row_rom[101] = 9'h096;
        row_rom[102] = 9'h095;
        row_rom[103] = 9'h095;
        row_rom[104] = 9'h094;
        row_rom[105] = 9'h094;
        row_rom[106] = 9'h093;
        row_rom[107] = 9'h093;
        row_rom[108] = 9'h092;
        row_rom[109] = 9'h091;
        row_rom[110] = 9'h091;
        row_rom[111] = 9'h090;
        row_rom[112] = 9'h090;
        row_rom[113] = 9'h08f;
        row_rom[114] = 9'h08f;
        row_rom[115] = 9'h08e;
        row_rom[116] = 9'h08e;
        row_rom[117] = 9'h08d;
        row_rom[118] = 9'h08d;
        row_rom[119] = 9'h08c;
        row_rom[120] = 9'h08c;
        row_rom[121] = 9'h08b;
        row_rom[122] = 9'h08b;
        row_rom[123] = 9'h08a;
        row_rom[124] = 9'h08a;
        row_rom[125] = 9'h089;
        row_rom[126] = 9'h089;
        row_rom[127] = 9'h088;
        row_rom[128] = 9'h088;
        row_rom[129] = 9'h087;
        row_rom[130] = 9'h087;
        row_rom[131] = 9'h086;
        row_rom[132] = 9'h086;
        row_rom[133] = 9'h085;
        row_rom[134] = 9'h085;
        row_rom[135] = 9'h084;
        row_rom[136] = 9'h084;
        row_rom[137] = 9'h083;
        row_rom[138] = 9'h083;
        row_rom[139] = 9'h082;
        row_rom[140] = 9'h082;
        row_rom[141] = 9'h081;
        row_rom[142] = 9'h081;
        row_rom[143] = 9'h080;
        row_rom[144] = 9'h080;
        row_rom[145] = 9'h07f;
        row_rom[146] = 9'h07f;
        row_rom[147] = 9'h07e;
        row_rom[148] = 9'h07e;
        row_rom[149] = 9'h07d;
        row_rom[150] = 9'h07d;
        row_rom[151] = 9'h07c;
        row_rom[152] = 9'h07c;
        row_rom[153] = 9'h07b;
        row_rom[154] = 9'h07b;
        row_rom[155] = 9'h07a;
        row_rom[156] = 9'h07a;
        row_rom[157] = 9'h079;
        row_rom[158] = 9'h079;
        row_rom[159] = 9'h078;
        row_rom[160] = 9'h078;
        row_rom[161] = 9'h078;
        row_rom[162] = 9'h077;
        row_rom[163] = 9'h077;
        row_rom[164] = 9'h076;
        row_rom[165] = 9'h076;
        row_rom[166] = 9'h075;
        row_rom[167] = 9'h075;
        row_rom[168] = 9'h074;
        row_rom[169] = 9'h074;
        row_rom[170] = 9'h073;
        row_rom[171] = 9'h073;
        row_rom[172] = 9'h072;
        row_rom[173] = 9'h072;
        row_rom[174] = 9'h072;
        row_rom[175] = 9'h071;
        row_rom[176] = 9'h071;
        row_rom[177] = 9'h070;
        row_rom[178] = 9'h070;
        row_rom[179] = 9'h06f;
        row_rom[180] = 9'h06f;
        row_rom[181] = 9'h06e;
        row_rom[182] = 9'h06e;
        row_rom[183] = 9'h06d;
        row_rom[184] = 9'h06d;
        row_rom[185] = 9'h06d;
        row_rom[186] = 9'h06c;
        row_rom[187] = 9'h06c;
        row_rom[188] = 9'h06b;
        row_rom[189] = 9'h06b;
        row_rom[190] = 9'h06a;
        row_rom[191] = 9'h06a;
        row_rom[192] = 9'h069;
        row_rom[193] = 9'h069;
        row_rom[194] = 9'h069;
        row_rom[195] = 9'h068;
        row_rom[196] = 9'h068;
        row_rom[197] = 9'h067;
        row_rom[198] = 9'h067;
        row_rom[199] = 9'h066;
        row_rom[200] = 9'h066;
        row_rom[201] = 9'h066;
        row_rom[202] = 9'h065;
        row_rom[203] = 9'h065;
        row_rom[204] = 9'h064;
        row_rom[205] = 9'h064;
        row_rom[206] = 9'h063;
        row_rom[207] = 9'h063;
        row_rom[208] = 9'h063;
        row_rom[209] = 9'h062;
        row_rom[210] = 9'h062;
        row_rom[211] = 9'h061;
        row_rom[212] = 9'h061;
        row_rom[213] = 9'h060;
        row_rom[214] = 9'h060;
        row_rom[215] = 9'h060;
        row_rom[216] = 9'h05f;
        row_rom[217] = 9'h05f;
        row_rom[218] = 9'h05e;
        row_rom[219] = 9'h05e;
        row_rom[220] = 9'h05e;
        row_rom[221] = 9'h05d;
        row_rom[222] = 9'h05d;
        row_rom[223] = 9'h05c;
        row_rom[224] = 9'h05c;
        row_rom[225] = 9'h05c;
        row_rom[226] = 9'h05b;
        row_rom[227] = 9'h05b;
        row_rom[228] = 9'h05a;
        row_rom[229] = 9'h05a;
        row_rom[230] = 9'h059;
        row_rom[231] = 9'h059;
        row_rom[232] = 9'h059;
        row_rom[233] = 9'h058;
        row_rom[234] = 9'h058;
        row_rom[235] = 9'h057;
        row_rom[236] = 9'h057;
        row_rom[237] = 9'h057;
        row_rom[238] = 9'h056;
        row_rom[239] = 9'h056;
        row_rom[240] = 9'h055;
        row_rom[241] = 9'h055;
        row_rom[242] = 9'h055;
        row_rom[243] = 9'h054;
        row_rom[244] = 9'h054;
        row_rom[245] = 9'h053;
        row_rom[246] = 9'h053;
        row_rom[247] = 9'h053;
        row_rom[248] = 9'h052;
        row_rom[249] = 9'h052;
        row_rom[250] = 9'h052;
        row_rom[251] = 9'h051;
        row_rom[252] = 9'h051;
        row_rom[253] = 9'h050;
        row_rom[254] = 9'h050;
        row_rom[255] = 9'h050;
        row_rom[256] = 9'h04f;
        row_rom[257] = 9'h04f;
        row_rom[258] = 9'h04e;
        row_rom[259] = 9'h04e;
        row_rom[260] = 9'h04e;
        row_rom[261] = 9'h04d;
        row_rom[262] = 9'h04d;
        row_rom[263] = 9'h04d;
        row_rom[264] = 9'h04c;
        row_rom[265] = 9'h04c;
        row_rom[266] = 9'h04b;
        row_rom[267] = 9'h04b;
        row_rom[268] = 9'h04b;
        row_rom[269] = 9'h04a;
        row_rom[270] = 9'h04a;
        row_rom[271] = 9'h04a;
        row_rom[272] = 9'h049;
        row_rom[273] = 9'h049;
        row_rom[274] = 9'h048;
        row_rom[275] = 9'h048;
        row_rom[276] = 9'h048;
        row_rom[277] = 9'h047;
        row_rom[278] = 9'h047;
        row_rom[279] = 9'h047;
        row_rom[280] = 9'h046;
        row_rom[281] = 9'h046;
        row_rom[282] = 9'h045;
        row_rom[283] = 9'h045;
        row_rom[284] = 9'h045;
        row_rom[285] = 9'h044;
        row_rom[286] = 9'h044;
        row_rom[287] = 9'h044;
        row_rom[288] = 9'h043;
        row_rom[289] = 9'h043;
        row_rom[290] = 9'h043;
        row_rom[291] = 9'h042;
        row_rom[292] = 9'h042;
        row_rom[293] = 9'h041;
        row_rom[294] = 9'h041;
        row_rom[295] = 9'h041;
        row_rom[296] = 9'h040;
        row_rom[297] = 9'h040;
        row_rom[298] = 9'h040;
        row_rom[299] = 9'h03f;
        row_rom[300] = 9'h03f;
        row_rom[301] = 9'h03f;
        row_rom[302] = 9'h03e;
        row_rom[303] = 9'h03e;
        row_rom[304] = 9'h03e;
        row_rom[305] = 9'h03d;
        row_rom[306] = 9'h03d;
        row_rom[307] = 9'h03d;
        row_rom[308] = 9'h03c;
        row_rom[309] = 9'h03c;
        row_rom[310] = 9'h03b;
        row_rom[311] = 9'h03b;
        row_rom[312] = 9'h03b;
        row_rom[313] = 9'h03a;
        row_rom[314] = 9'h03a;
        row_rom[315] = 9'h03a;
        row_rom[316] = 9'h039;
        row_rom[317] = 9'h039;
        row_rom[318] = 9'h039;
        row_rom[319] = 9'h038;
        row_rom[320] = 9'h038;
        row_rom[321] = 9'h038;
        row_rom[322] = 9'h037;
        row_rom[323] = 9'h037;
        row_rom[324] = 9'h037;
        row_rom[325] = 9'h036;
        row_rom[326] = 9'h036;
        row_rom[327] = 9'h036;
        row_rom[328] = 9'h035;
        row_rom[329] = 9'h035;
        row_rom[330] = 9'h035;
        row_rom[331] = 9'h034;
        row_rom[332] = 9'h034;
        row_rom[333] = 9'h034;
        row_rom[334] = 9'h033;
        row_rom[335] = 9'h033;
        row_rom[336] = 9'h033;
        row_rom[337] = 9'h032;
        row_rom[338] = 9'h032;
        row_rom[339] = 9'h032;
        row_rom[340] = 9'h031;
        row_rom[341] = 9'h031;
        row_rom[342] = 9'h031;
        row_rom[343] = 9'h030;
        row_rom[344] = 9'h030;
        row_rom[345] = 9'h030;
        row_rom[346] = 9'h02f;
        row_rom[347] = 9'h02f;
        row_rom[348] = 9'h02f;
        row_rom[349] = 9'h02e;
        row_rom[350] = 9'h02e;
        row_rom[351] = 9'h02e;
        row_rom[352] = 9'h02d;
        row_rom[353] = 9'h02d;
        row_rom[354] = 9'h02d;
        row_rom[355] = 9'h02c;
        row_rom[356] = 9'h02c;
        row_rom[357] = 9'h02c;
        row_rom[358] = 9'h02b;
        row_rom[359] = 9'h02b;
        row_rom[360] = 9'h02b;
        row_rom[361] = 9'h02b;
        row_rom[362] = 9'h02a;
        row_rom[363] = 9'h02a;
        row_rom[364] = 9'h02a;
        row_rom[365] = 9'h029;
        row_rom[366] = 9'h029;
        row_rom[367] = 9'h029;
        row_rom[368] = 9'h028;
        row_rom[369] = 9'h028;
        row_rom[370] = 9'h028;
        row_rom[371] = 9'h027;
        row_rom[372] = 9'h027;
        row_rom[373] = 9'h027;
        row_rom[374] = 9'h026;
        row_rom[375] = 9'h026;
        row_rom[376] = 9'h026;
        row_rom[377] = 9'h026;
        row_rom[378] = 9'h025;
        row_rom[379] = 9'h025;
        row_rom[380] = 9'h025;
        row_rom[381] = 9'h024;
        row_rom[382] = 9'h024;
        row_rom[383] = 9'h024;
        row_rom[384] = 9'h023;
        row_rom[385] = 9'h023;
        row_rom[386] = 9'h023;
        row_rom[387] = 9'h022;
        row_rom[388] = 9'h022;
        row_rom[389] = 9'h022;
        row_rom[390] = 9'h022;
        row_rom[391] = 9'h021;
        row_rom[392] = 9'h021;
        row_rom[393] = 9'h021;
        row_rom[394] = 9'h020;
        row_rom[395] = 9'h020;
        row_rom[396] = 9'h020;
        row_rom[397] = 9'h01f;
        row_rom[398] = 9'h01f;
        row_rom[399] = 9'h01f;
        row_rom[400] = 9'h01f;
        row_rom[401] = 9'h01e;
        row_rom[402] = 9'h01e;
        row_rom[403] = 9'h01e;
        row_rom[404] = 9'h01d;
        row_rom[405] = 9'h01d;
        row_rom[406] = 9'h01d;
        row_rom[407] = 9'h01c;
        row_rom[408] = 9'h01c;
        row_rom[409] = 9'h01c;
        row_rom[410] = 9'h01c;
        row_rom[411] = 9'h01b;
        row_rom[412] = 9'h01b;
        row_rom[413] = 9'h01b;
        row_rom[414] = 9'h01a;
        row_rom[415] = 9'h01a;
        row_rom[416] = 9'h01a;
        row_rom[417] = 9'h01a;
        row_rom[418] = 9'h019;
        row_rom[419] = 9'h019;
        row_rom[420] = 9'h019;
        row_rom[421] = 9'h018;
        row_rom[422] = 9'h018;
        row_rom[423] = 9'h018;
        row_rom[424] = 9'h018;
        row_rom[425] = 9'h017;
        row_rom[426] = 9'h017;
        row_rom[427] = 9'h017;
        row_rom[428] = 9'h016;
        row_rom[429] = 9'h016;
        row_rom[430] = 9'h016;
        row_rom[431] = 9'h016;
        row_rom[432] = 9'h015;
        row_rom[433] = 9'h015;
        row_rom[434] = 9'h015;
        row_rom[435] = 9'h014;
        row_rom[436] = 9'h014;
        row_rom[437] = 9'h014;
        row_rom[438] = 9'h014;
        row_rom[439] = 9'h013;
        row_rom[440] = 9'h013;
        row_rom[441] = 9'h013;
        row_rom[442] = 9'h012;
        row_rom[443] = 9'h012;
        row_rom[444] = 9'h012;
        row_rom[445] = 9'h012;
        row_rom[446] = 9'h011;
        row_rom[447] = 9'h011;
        row_rom[448] = 9'h011;
        row_rom[449] = 9'h011;
        row_rom[450] = 9'h010;
        row_rom[451] = 9'h010;
        row_rom[452] = 9'h010;
        row_rom[453] = 9'h00f;
        row_rom[454] = 9'h00f;
        row_rom[455] = 9'h00f;
        row_rom[456] = 9'h00f;
        row_rom[457] = 9'h00e;
        row_rom[458] = 9'h00e;
        row_rom[459] = 9'h00e;
        row_rom[460] = 9'h00e;
        row_rom[461] = 9'h00d;
        row_rom[462] = 9'h00d;
        row_rom[463] = 9'h00d;
        row_rom[464] = 9'h00c;
        row_rom[465] = 9'h00c;
        row_rom[466] = 9'h00c;
        row_rom[467] = 9'h00c;
        row_rom[468] = 9'h00b;
        row_rom[469] = 9'h00b;
        row_rom[470] = 9'h00b;
        row_rom[471] = 9'h00b;
        row_rom[472] = 9'h00a;
        row_rom[473] = 9'h00a;
        row_rom[474] = 9'h00a;
        row_rom[475] = 9'h00a;
        row_rom[476] = 9'h009;
        row_rom[477] = 9'h009;
        row_rom[478] = 9'h009;
        row_rom[479] = 9'h008;
        row_rom[480] = 9'h008;
        row_rom[481] = 9'h008;
        row_rom[482] = 9'h008;
        row_rom[483] = 9'h007;
        row_rom[484] = 9'h007;
        row_rom[485] = 9'h007;
        row_rom[486] = 9'h007;
        row_rom[487] = 9'h006;
        row_rom[488] = 9'h006;
        row_rom[489] = 9'h006;
        row_rom[490] = 9'h006;
        row_rom[491] = 9'h005;
        row_rom[492] = 9'h005;
        row_rom[493] = 9'h005;
        row_rom[494] = 9'h005;
        row_rom[495] = 9'h004;
        row_rom[496] = 9'h004;
        row_rom[497] = 9'h004;
        row_rom[498] = 9'h004;
        row_rom[499] = 9'h003;
        row_rom[500] = 9'h003;
        row_rom[501] = 9'h003;
        row_rom[502] = 9'h003;
        row_rom[503] = 9'h002;
        row_rom[504] = 9'h002;
        row_rom[505] = 9'h002;
        row_rom[506] = 9'h002;
        row_rom[507] = 9'h001;
        row_rom[508] = 9'h001;
        row_rom[509] = 9'h001;
        row_rom[510] = 9'h001;
        row_rom[511] = 9'h000;
        row_rom[512] = 9'h000;
        row_rom[513] = 9'h1ff;
        row_rom[514] = 9'h1fe;
        row_rom[515] = 9'h1fd;
        row_rom[516] = 9'h1fc;
        row_rom[517] = 9'h1fb;
        row_rom[518] = 9'h1fa;
        row_rom[519] = 9'h1f9;
        row_rom[520] = 9'h1f8;
        row_rom[521] = 9'h1f7;
        row_rom[522] = 9'h1f6;
        row_rom[523] = 9'h1f5;
        row_rom[524] = 9'h1f4;
        row_rom[525] = 9'h1f3;
        row_rom[526] = 9'h1f2;
        row_rom[527] = 9'h1f1;
        row_rom[528] = 9'h1f0;
        row_rom[529] = 9'h1ef;
        row_rom[530] = 9'h1ee;
        row_rom[531] = 9'h1ee;
        row_rom[532] = 9'h1ed;
        row_rom[533] = 9'h1ec;
        row_rom[534] = 9'h1eb;
        row_rom[535] = 9'h1ea;
        row_rom[536] = 9'h1e9;
        row_rom[537] = 9'h1e8;
        row_rom[538] = 9'h1e7;
        row_rom[539] = 9'h1e6;
        row_rom[540] = 9'h1e5;
        row_rom[541] = 9'h1e4;
        row_rom[542] = 9'h1e3;
        row_rom[543] = 9'h1e2;
        row_rom[544] = 9'h1e1;
        row_rom[545] = 9'h1e1;
        row_rom[546] = 9'h1e0;
        row_rom[547] = 9'h1df;
        row_rom[548] = 9'h1de;
        row_rom[549] = 9'h1dd;
        row_rom[550] = 9'h1dc;
        row_rom[551] = 9'h1db;
        row_rom[552] = 9'h1da;
        row_rom[553] = 9'h1d9;
        row_rom[554] = 9'h1d8;
        row_rom[555] = 9'h1d8;
        row_rom[556] = 9'h1d7;
        row_rom[557] = 9'h1d6;
        row_rom[558] = 9'h1d5;
        row_rom[559] = 9'h1d4;
        row_rom[560] = 9'h1d3;
        row_rom[561] = 9'h1d2;
        row_rom[562] = 9'h1d1;
        row_rom[563] = 9'h1d1;
        row_rom[564] = 9'h1d0;
        row_rom[565] = 9'h1cf;
        row_rom[566] = 9'h1ce;
        row_rom[567] = 9'h1cd;
        row_rom[568] = 9'h1cc;
        row_rom[569] = 9'h1cb;
        row_rom[570] = 9'h1cb;
        row_rom[571] = 9'h1ca;
        row_rom[572] = 9'h1c9;
        row_rom[573] = 9'h1c8;
        row_rom[574] = 9'h1c7;
        row_rom[575] = 9'h1c6;
        row_rom[576] = 9'h1c5;
        row_rom[577] = 9'h1c5;
        row_rom[578] = 9'h1c4;
        row_rom[579] = 9'h1c3;
        row_rom[580] = 9'h1c2;
        row_rom[581] = 9'h1c1;
        row_rom[582] = 9'h1c0;
        row_rom[583] = 9'h1c0;
        row_rom[584] = 9'h1bf;
        row_rom[585] = 9'h1be;
        row_rom[586] = 9'h1bd;
        row_rom[587] = 9'h1bc;
        row_rom[588] = 9'h1bc;
        row_rom[589] = 9'h1bb;
        row_rom[590] = 9'h1ba;
        row_rom[591] = 9'h1b9;
        row_rom[592] = 9'h1b8;
        row_rom[593] = 9'h1b7;
        row_rom[594] = 9'h1b7;
        row_rom[595] = 9'h1b6;
        row_rom[596] = 9'h1b5;
        row_rom[597] = 9'h1b4;
        row_rom[598] = 9'h1b4;
        row_rom[599] = 9'h1b3;
        row_rom[600] = 9'h1b2;
        row_rom[601] = 9'h1b1;
        row_rom[602] = 9'h1b0;
        row_rom[603] = 9'h1b0;
        row_rom[604] = 9'h1af;
        row_rom[605] = 9'h1ae;
        row_rom[606] = 9'h1ad;
        row_rom[607] = 9'h1ac;
        row_rom[608] = 9'h1ac;
        row_rom[609] = 9'h1ab;
        row_rom[610] = 9'h1aa;
        row_rom[611] = 9'h1a9;
        row_rom[612] = 9'h1a9;
        row_rom[613] = 9'h1a8;
        row_rom[614] = 9'h1a7;
        row_rom[615] = 9'h1a6;
        row_rom[616] = 9'h1a6;
        row_rom[617] = 9'h1a5;
        row_rom[618] = 9'h1a4;
        row_rom[619] = 9'h1a3;
        row_rom[620] = 9'h1a3;
        row_rom[621] = 9'h1a2;
        row_rom[622] = 9'h1a1;
        row_rom[623] = 9'h1a0;
        row_rom[624] = 9'h1a0;
        row_rom[625] = 9'h19f;
        row_rom[626] = 9'h19e;
        row_rom[627] = 9'h19d;
        row_rom[628] = 9'h19d;
        row_rom[629] = 9'h19c;
        row_rom[630] = 9'h19b;
        row_rom[631] = 9'h19a;
        row_rom[632] = 9'h19a;
        row_rom[633] = 9'h199;
        row_rom[634] = 9'h198;
        row_rom[635] = 9'h197;
        row_rom[636] = 9'h197;
        row_rom[637] = 9'h196;
        row_rom[638] = 9'h195;
        row_rom[639] = 9'h195;
        row_rom[640] = 9'h194;
        row_rom[641] = 9'h193;
        row_rom[642] = 9'h192;
        row_rom[643] = 9'h192;
        row_rom[644] = 9'h191;
        row_rom[645] = 9'h190;
        row_rom[646] = 9'h190;
        row_rom[647] = 9'h18f;
        row_rom[648] = 9'h18e;
        row_rom[649] = 9'h18e;
        row_rom[650] = 9'h18d;
        row_rom[651] = 9'h18c;
        row_rom[652] = 9'h18b;
        row_rom[653] = 9'h18b;
        row_rom[654] = 9'h18a;
        row_rom[655] = 9'h189;
        row_rom[656] = 9'h189;
        row_rom[657] = 9'h188;
        row_rom[658] = 9'h187;
        row_rom[659] = 9'h187;
        row_rom[660] = 9'h186;
        row_rom[661] = 9'h185;
        row_rom[662] = 9'h185;
        row_rom[663] = 9'h184;
        row_rom[664] = 9'h183;
        row_rom[665] = 9'h183;
        row_rom[666] = 9'h182;
        row_rom[667] = 9'h181;
        row_rom[668] = 9'h180;
        row_rom[669] = 9'h180;
        row_rom[670] = 9'h17f;
        row_rom[671] = 9'h17e;
        row_rom[672] = 9'h17e;
        row_rom[673] = 9'h17d;
        row_rom[674] = 9'h17c;
        row_rom[675] = 9'h17c;
        row_rom[676] = 9'h17b;
        row_rom[677] = 9'h17b;
        row_rom[678] = 9'h17a;
        row_rom[679] = 9'h179;
        row_rom[680] = 9'h179;
        row_rom[681] = 9'h178;
        row_rom[682] = 9'h177;
        row_rom[683] = 9'h177;
        row_rom[684] = 9'h176;
        row_rom[685] = 9'h175;
        row_rom[686] = 9'h175;
        row_rom[687] = 9'h174;
        row_rom[688] = 9'h173;
        row_rom[689] = 9'h173;
        row_rom[690] = 9'h172;
        row_rom[691] = 9'h171;
        row_rom[692] = 9'h171;
        row_rom[693] = 9'h170;
        row_rom[694] = 9'h170;
        row_rom[695] = 9'h16f;
        row_rom[696] = 9'h16e;
        row_rom[697] = 9'h16e;
        row_rom[698] = 9'h16d;
        row_rom[699] = 9'h16c;
        row_rom[700] = 9'h16c;
        row_rom[701] = 9'h16b;
        row_rom[702] = 9'h16b;
        row_rom[703] = 9'h16a;
        row_rom[704] = 9'h169;
        row_rom[705] = 9'h169;
        row_rom[706] = 9'h168;
        row_rom[707] = 9'h167;
        row_rom[708] = 9'h167;
        row_rom[709] = 9'h166;
        row_rom[710] = 9'h166;
        row_rom[711] = 9'h165;
        row_rom[712] = 9'h164;
        row_rom[713] = 9'h164;
        row_rom[714] = 9'h163;
        row_rom[715] = 9'h163;
        row_rom[716] = 9'h162;
        row_rom[717] = 9'h161;
        row_rom[718] = 9'h161;
        row_rom[719] = 9'h160;
        row_rom[720] = 9'h160;
        row_rom[721] = 9'h15f;
        row_rom[722] = 9'h15e;
        row_rom[723] = 9'h15e;
        row_rom[724] = 9'h15d;
        row_rom[725] = 9'h15d;
        row_rom[726] = 9'h15c;
        row_rom[727] = 9'h15b;
        row_rom[728] = 9'h15b;
        row_rom[729] = 9'h15a;
        row_rom[730] = 9'h15a;
        row_rom[731] = 9'h159;
        row_rom[732] = 9'h158;
        row_rom[733] = 9'h158;
        row_rom[734] = 9'h157;
        row_rom[735] = 9'h157;
        row_rom[736] = 9'h156;
        row_rom[737] = 9'h155;
        row_rom[738] = 9'h155;
        row_rom[739] = 9'h154;
        row_rom[740] = 9'h154;
        row_rom[741] = 9'h153;
        row_rom[742] = 9'h153;
        row_rom[743] = 9'h152;
        row_rom[744] = 9'h151;
        row_rom[745] = 9'h151;
        row_rom[746] = 9'h150;
        row_rom[747] = 9'h150;
        row_rom[748] = 9'h14f;
        row_rom[749] = 9'h14f;
        row_rom[750] = 9'h14e;
        row_rom[751] = 9'h14e;
        row_rom[752] = 9'h14d;
        row_rom[753] = 9'h14c;
        row_rom[754] = 9'h14c;
        row_rom[755] = 9'h14b;
        row_rom[756] = 9'h14b;
        row_rom[757] = 9'h14a;
        row_rom[758] = 9'h14a;
        row_rom[759] = 9'h149;
        row_rom[760] = 9'h148;
        row_rom[761] = 9'h148;
        row_rom[762] = 9'h147;
        row_rom[763] = 9'h147;
        row_rom[764] = 9'h146;
        row_rom[765] = 9'h146;
        row_rom[766] = 9'h145;
        row_rom[767] = 9'h145;
        row_rom[768] = 9'h144;
        row_rom[769] = 9'h144;
        row_rom[770] = 9'h143;
        row_rom[771] = 9'h142;
        row_rom[772] = 9'h142;
        row_rom[773] = 9'h141;
        row_rom[774] = 9'h141;
        row_rom[775] = 9'h140;
        row_rom[776] = 9'h140;
        row_rom[777] = 9'h13f;
        row_rom[778] = 9'h13f;
        row_rom[779] = 9'h13e;
        row_rom[780] = 9'h13e;
        row_rom[781] = 9'h13d;
        row_rom[782] = 9'h13d;
        row_rom[783] = 9'h13c;
        row_rom[784] = 9'h13c;
        row_rom[785] = 9'h13b;
        row_rom[786] = 9'h13a;
        row_rom[787] = 9'h13a;
        row_rom[788] = 9'h139;
        row_rom[789] = 9'h139;
        row_rom[790] = 9'h138;
        row_rom[791] = 9'h138;
        row_rom[792] = 9'h137;
        row_rom[793] = 9'h137;
        row_rom[794] = 9'h136;
        row_rom[795] = 9'h136;
        row_rom[796] = 9'h135;
        row_rom[797] = 9'h135;
        row_rom[798] = 9'h134;
        row_rom[799] = 9'h134;
        row_rom[800] = 9'h133;
        row_rom[801] = 9'h133;
        row_rom[802] = 9'h132;
        row_rom[803] = 9'h132;
        row_rom[804] = 9'h131;
        row_rom[805] = 9'h131;
        row_rom[806] = 9'h130;
        row_rom[807] = 9'h130;
        row_rom[808] = 9'h12f;
        row_rom[809] = 9'h12f;
        row_rom[810] = 9'h12e;
        row_rom[811] = 9'h12e;
        row_rom[812] = 9'h12d;
        row_rom[813] = 9'h12d;
        row_rom[814] = 9'h12c;
        row_rom[815] = 9'h12c;
        row_rom[816] = 9'h12b;
        row_rom[817] = 9'h12b;
        row_rom[818] = 9'h12a;
        row_rom[819] = 9'h12a;
        row_rom[820] = 9'h129;
        row_rom[821] = 9'h129;
        row_rom[822] = 9'h128;
        row_rom[823] = 9'h128;
        row_rom[824] = 9'h127;
        row_rom[825] = 9'h127;
        row_rom[826] = 9'h126;
        row_rom[827] = 9'h126;
        row_rom[828] = 9'h125;
        row_rom[829] = 9'h125;
        row_rom[830] = 9'h124;
        row_rom[831] = 9'h124;
        row_rom[832] = 9'h123;
        row_rom[833] = 9'h123;
        row_rom[834] = 9'h122;
        row_rom[835] = 9'h122;
        row_rom[836] = 9'h121;
        row_rom[837] = 9'h121;
        row_rom[838] = 9'h120;
        row_rom[839] = 9'h120;
        row_rom[840] = 9'h11f;
        row_rom[841] = 9'h11f;
        row_rom[842] = 9'h11f;
        row_rom[843] = 9'h11e;
        row_rom[844] = 9'h11e;
        row_rom[845] = 9'h11d;
        row_rom[846] = 9'h11d;
        row_rom[847] = 9'h11c;
        row_rom[848] = 9'h11c;
        row_rom[849] = 9'h11b;
        row_rom[850] = 9'h11b;
        row_rom[851] = 9'h11a;
        row_rom[852] = 9'h11a;
        row_rom[853] = 9'h119;
        row_rom[854] = 9'h119;
        row_rom[855] = 9'h118;
        row_rom[856] = 9'h118;
        row_rom[857] = 9'h117;
        row_rom[858] = 9'h117;
        row_rom[859] = 9'h117;
        row_rom[860] = 9'h116;
        row_rom[861] = 9'h116;
        row_rom[862] = 9'h115;
        row_rom[863] = 9'h115;
        row_rom[864] = 9'h114;
        row_rom[865] = 9'h114;
        row_rom[866] = 9'h113;
        row_rom[867] = 9'h113;
        row_rom[868] = 9'h112;
        row_rom[869] = 9'h112;
        row_rom[870] = 9'h112;
        row_rom[871] = 9'h111;
        row_rom[872] = 9'h111;
        row_rom[873] = 9'h110;
        row_rom[874] = 9'h110;
        row_rom[875] = 9'h10f;
        row_rom[876] = 9'h10f;
        row_rom[877] = 9'h10e;
        row_rom[878] = 9'h10e;
        row_rom[879] = 9'h10e;
        row_rom[880] = 9'h10d;
        row_rom[881] = 9'h10d;
        row_rom[882] = 9'h10c;
        row_rom[883] = 9'h10c;
        row_rom[884] = 9'h10b;
        row_rom[885] = 9'h10b;
        row_rom[886] = 9'h10a;
        row_rom[887] = 9'h10a;
        row_rom[888] = 9'h10a;
        row_rom[889] = 9'h109;
        row_rom[890] = 9'h109;
        row_rom[891] = 9'h108;
        row_rom[892] = 9'h108;
        row_rom[893] = 9'h107;
        row_rom[894] = 9'h107;
        row_rom[895] = 9'h107;
        row_rom[896] = 9'h106;
        row_rom[897] = 9'h106;
        row_rom[898] = 9'h105;
        row_rom[899] = 9'h105;
        row_rom[900] = 9'h104;
        row_rom[901] = 9'h104;
        row_rom[902] = 9'h103;
        row_rom[903] = 9'h103;
        row_rom[904] = 9'h103;
        row_rom[905] = 9'h102;
        row_rom[906] = 9'h102;
        row_rom[907] = 9'h101;
        row_rom[908] = 9'h101;
        row_rom[909] = 9'h101;
        row_rom[910] = 9'h100;
        row_rom[911] = 9'h100;
        row_rom[912] = 9'h0ff;
        row_rom[913] = 9'h0ff;
        row_rom[914] = 9'h0fe;
        row_rom[915] = 9'h0fe;
        row_rom[916] = 9'h0fe;
        row_rom[917] = 9'h0fd;
        row_rom[918] = 9'h0fd;
        row_rom[919] = 9'h0fc;
        row_rom[920] = 9'h0fc;
        row_rom[921] = 9'h0fb;
        row_rom[922] = 9'h0fb;
        row_rom[923] = 9'h0fb;
        row_rom[924] = 9'h0fa;
        row_rom[925] = 9'h0fa;
        row_rom[926] = 9'h0f9;
        row_rom[927] = 9'h0f9;
        row_rom[928] = 9'h0f9;
        row_rom[929] = 9'h0f8;
        row_rom[930] = 9'h0f8;
        row_rom[931] = 9'h0f7;
        row_rom[932] = 9'h0f7;
        row_rom[933] = 9'h0f7;
        row_rom[934] = 9'h0f6;
        row_rom[935] = 9'h0f6;
        row_rom[936] = 9'h0f5;
        row_rom[937] = 9'h0f5;
        row_rom[938] = 9'h0f5;
        row_rom[939] = 9'h0f4;
        row_rom[940] = 9'h0f4;
        row_rom[941] = 9'h0f3;
        row_rom[942] = 9'h0f3;
        row_rom[943] = 9'h0f3;
        row_rom[944] = 9'h0f2;
        row_rom[945] = 9'h0f2;
        row_rom[946] = 9'h0f1;
        row_rom[947] = 9'h0f1;
        row_rom[948] = 9'h0f1;
        row_rom[949] = 9'h0f0;
        row_rom[950] = 9'h0f0;
        row_rom[951] = 9'h0ef;
        row_rom[952] = 9'h0ef;
        row_rom[953] = 9'h0ef;
        row_rom[954] = 9'h0ee;
        row_rom[955] = 9'h0ee;
        row_rom[956] = 9'h0ed;
        row_rom[957] = 9'h0ed;
        row_rom[958] = 9'h0ed;
        row_rom[959] = 9'h0ec;
        row_rom[960] = 9'h0ec;
        row_rom[961] = 9'h0eb;
        row_rom[962] = 9'h0eb;
        row_rom[963] = 9'h0eb;
        row_rom[964] = 9'h0ea;
        row_rom[965] = 9'h0ea;
        row_rom[966] = 9'h0e9;
        row_rom[967] = 9'h0e9;
        row_rom[968] = 9'h0e9;
        row_rom[969] = 9'h0e8;
        row_rom[970] = 9'h0e8;
        row_rom[971] = 9'h0e8;
        row_rom[972] = 9'h0e7;
        row_rom[973] = 9'h0e7;
        row_rom[974] = 9'h0e6;
        row_rom[975] = 9'h0e6;
        row_rom[976] = 9'h0e6;
        row_rom[977] = 9'h0e5;
        row_rom[978] = 9'h0e5;
        row_rom[979] = 9'h0e5;
        row_rom[980] = 9'h0e4;
        row_rom[981] = 9'h0e4;
        row_rom[982] = 9'h0e3;
        row_rom[983] = 9'h0e3;
        row_rom[984] = 9'h0e3;
        row_rom[985] = 9'h0e2;
        row_rom[986] = 9'h0e2;
        row_rom[987] = 9'h0e2;
        row_rom[988] = 9'h0e1;
        row_rom[989] = 9'h0e1;
        row_rom[990] = 9'h0e0;
        row_rom[991] = 9'h0e0;
        row_rom[992] = 9'h0e0;
        row_rom[993] = 9'h0df;
        row_rom[994] = 9'h0df;
        row_rom[995] = 9'h0df;
        row_rom[996] = 9'h0de;
        row_rom[997] = 9'h0de;
        row_rom[998] = 9'h0dd;
        row_rom[999] = 9'h0dd;
        row_rom[1000] = 9'h0dd;
        row_rom[1001] = 9'h0dc;
        row_rom[1002] = 9'h0dc;
        row_rom[1003] = 9'h0dc;
        row_rom[1004] = 9'h0db;
        row_rom[1005] = 9'h0db;
        row_rom[1006] = 9'h0db;
        row_rom[1007] = 9'h0da;
        row_rom[1008] = 9'h0da;
        row_rom[1009] = 9'h0d9;
        row_rom[1010] = 9'h0d9;
        row_rom[1011] = 9'h0d9;
        row_rom[1012] = 9'h0d8;
        row_rom[1013] = 9'h0d8;
        row_rom[1014] = 9'h0d8;
        row_rom[1015] = 9'h0d7;
        row_rom[1016] = 9'h0d7;
        row_rom[1017] = 9'h0d7;
        row_rom[1018] = 9'h0d6;
        row_rom[1019] = 9'h0d6;
        row_rom[1020] = 9'h0d5;
        row_rom[1021] = 9'h0d5;
        row_rom[1022] = 9'h0d5;
        row_rom[1023] = 9'h0d4;
    end
    reg [8:0] row;
    always @(posedge clk) row <= row_rom[index];
    wire [7:0] power = exponent_s1;
    wire [16:0] magnitude = {power, row};
    wire [17:0] result = {1'd0, (magnitude & {17{nonzero_s1}})};
    // stage 2
    reg [17:0] result_s2;
    always @(posedge clk) result_s2 <= result;
    assign q = result_s2;
    wire unused = &{1'b0, a[17], sum[0], exponent[9:8]};
endmodule

module fmul_float18_9_float18_9_p2 (
    input  wire clk,
    input  wire [17:0] a,
    input  wire [17:0] b,
    output wire [17:0] q,
    output wire [1:0] f
);
    // stage 0
    wire [7:0] exp_a = a[16:9];
    wire [7:0] exp_b = b[16:9];
    wire nonzero = |exp_a & |exp_b;
    wire [9:0] exp = {{3{~exp_a[7]}}, exp_a[6:0]} + {2'd0, exp_b};
    wire [9:0] significand = {1'b1, a[8:0]};
    wire [9:0] significand_2 = {1'b1, b[8:0]};
    // stage 1
    reg a_s1;
    always @(posedge clk) a_s1 <= a[17];
    reg nonzero_s1;
    always @(posedge clk) nonzero_s1 <= nonzero;
    reg [9:0] exp_s1;
    always @(posedge clk) exp_s1 <= exp;
    reg [19:0] product;
    always @(posedge clk) product <= {10'd0, significand} * {10'd0, significand_2};
    wire two = product[19];
    wire [8:0] fraction = two ? product[18:10] : product[17:9];
    wire [2:0] near = product[10:8];
    wire any = |product[7:0];
    wire up = two ? near[1] & (any | near[0] | near[2]) : near[0] & (any | near[1]);
    wire [18:0] rounded = {exp_s1, fraction} + {8'd0, two, ~two, 8'd0, up};
    // stage 2
    reg a_s2;
    always @(posedge clk) a_s2 <= a_s1;
    reg nonzero_s2;
    always @(posedge clk) nonzero_s2 <= nonzero_s1;
    reg [18:0] rounded_s2;
    always @(posedge clk) rounded_s2 <= rounded;
    wire sign = a_s2;
    wire [9:0] exp_2 = rounded_s2[18:9];
    wire above = nonzero_s2 & ~exp_2[9] & (|exp_2[8] | &exp_2[7:0]);
    wire below = nonzero_s2 & (exp_2[9] | ~|exp_2);
    wire [16:0] low = rounded_s2[16:0];
    wire [17:0] bounded = {18{(~below & nonzero_s2)}} & (above ? {sign, {7{1'b1}}, 1'd0, {9{1'b1}}} : {sign, low});
    // stage 3
    reg above_s3;
    always @(posedge clk) above_s3 <= above;
    reg below_s3;
    always @(posedge clk) below_s3 <= below;
    reg [17:0] bounded_s3;
    always @(posedge clk) bounded_s3 <= bounded;
    wire [1:0] flags = {below_s3, above_s3};
    assign q = bounded_s3;
    assign f = flags;
    wire unused = &{1'b0, b[17]};
endmodule

module fscale_float18_9_n45_d0 (
    input  wire clk,
    input  wire [17:0] a,
    output wire [17:0] q,
    output wire f
);
    // stage 0
    wire sign = a[17];
    wire [7:0] exp = a[16:9];
    wire any = |exp;
    wire [8:0] fraction = a[8:0];
    wire [8:0] exp_2 = {1'd0, exp} + 9'd45;
    wire [17:0] scaled = {exp_2, fraction};
    wire [8:0] exp_3 = scaled[17:9];
    wire above = any & (|exp_3[8] | &exp_3[7:0]);
    wire [16:0] low = scaled[16:0];
    wire [17:0] bounded = {18{(any)}} & (above ? {sign, {7{1'b1}}, 1'd0, {9{1'b1}}} : {sign, low});
    // stage 1
    reg above_s1;
    always @(posedge clk) above_s1 <= above;
    reg [17:0] bounded_s1;
    always @(posedge clk) bounded_s1 <= bounded;
    assign q = bounded_s1;
    assign f = above_s1;
endmodule

module tofix_float18_9_int64 (
    input  wire clk,
    input  wire [17:0] a,
    output wire [63:0] q,
    output wire f
);
    // stage 0
    wire sign = a[17];
    wire [7:0] exp = a[16:9];
    wire any = |exp;
    wire [8:0] fraction = a[8:0];
    wire [8:0] right = 9'd189 - {1'd0, exp};
    wire [9:0] significand = {any, fraction};
    wire any_2 = |right[7:6];
    wire [9:0] significand_2 = {10{~any_2}} & significand;
    wire [5:0] amount = right[5:0];
    wire [1:0] digit = amount[1:0];
    wire [12:0] shifted = digit[1] ? (digit[0] ? {3'd0, significand_2} : {2'd0, significand_2, 1'd0}) : (digit[0] ? {1'd0, significand_2, 2'd0} : {significand_2, 3'd0});
    wire any_3 = |fraction;
    wire least = sign & (&right) & ~any_3;
    // stage 1
    reg sign_s1;
    always @(posedge clk) sign_s1 <= sign;
    reg right_s1;
    always @(posedge clk) right_s1 <= right[8];
    reg [3:0] amount_s1;
    always @(posedge clk) amount_s1 <= amount[5:2];
    reg [12:0] shifted_s1;
    always @(posedge clk) shifted_s1 <= shifted;
    reg least_s1;
    always @(posedge clk) least_s1 <= least;
    wire [1:0] digit_2 = amount_s1[1:0];
    wire [24:0] shifted_2 = digit_2[1] ? (digit_2[0] ? {12'd0, shifted_s1} : {8'd0, shifted_s1, 4'd0}) : (digit_2[0] ? {4'd0, shifted_s1, 8'd0} : {shifted_s1, 12'd0});
    wire [1:0] digit_3 = amount_s1[3:2];
    wire [63:0] shifted_3 = digit_3[1] ? (digit_3[0] ? {48'd0, shifted_2[24:9]} : {32'd0, shifted_2, 7'd0}) : (digit_3[0] ? {16'd0, shifted_2, 23'd0} : {shifted_2, 39'd0});
    wire sticky = digit_3[1] ? (digit_3[0] ? |shifted_2[8:0] : 1'b0) : (digit_3[0] ? 1'b0 : 1'b0);
    wire [1:0] ends = shifted_3[1:0];
    wire up = ends[0] & (sticky | ends[1]) ^ sign_s1;
    // stage 2
    reg sign_s2;
    always @(posedge clk) sign_s2 <= sign_s1;
    reg right_s2;
    always @(posedge clk) right_s2 <= right_s1;
    reg [62:0] shifted_3_s2;
    always @(posedge clk) shifted_3_s2 <= shifted_3[63:1];
    reg up_s2;
    always @(posedge clk) up_s2 <= up;
    reg least_s2;
    always @(posedge clk) least_s2 <= least_s1;
    wire [62:0] whole = shifted_3_s2;
    wire [63:0] rounded = {sign_s2, whole ^ {63{sign_s2}}} + {63'd0, up_s2};
    // stage 3
    reg sign_s3;
    always @(posedge clk) sign_s3 <= sign_s2;
    reg right_s3;
    always @(posedge clk) right_s3 <= right_s2;
    reg [63:0] rounded_s3;
    always @(posedge clk) rounded_s3 <= rounded;
    reg least_s3;
    always @(posedge clk) least_s3 <= least_s2;
    wire negative = right_s3;
    wire carry = ~sign_s3 & rounded_s3[63];
    wire either = negative | carry;
    wire [63:0] result = (either ? {sign_s3, {63{~sign_s3}}} : rounded_s3);
    wire sat = either & ~least_s3;
    // stage 4
    reg [63:0] result_s4;
    always @(posedge clk) result_s4 <= result;
    reg sat_s4;
    always @(posedge clk) sat_s4 <= sat;
    assign q = result_s4;
    assign f = sat_s4;
endmodule

// 18 bits, 4 cycles later.
module delay_18_by_4 (
    input  wire clk,
    input  wire [17:0] d,
    output wire [17:0] q
);
    reg [17:0] s1;
    always @(posedge clk) s1 <= d;
    reg [17:0] s2;
    always @(posedge clk) s2 <= s1;
    reg [17:0] s3;
    always @(posedge clk) s3 <= s2;
    reg [17:0] s4;
    always @(posedge clk) s4 <= s3;
    assign q = s4;
endmodule

// 18 bits, 18 cycles later.
module delay_18_by_18 (
    input  wire clk,
    input  wire [17:0] d,
    output wire [17:0] q
);
    reg [17:0] s1;
    always @(posedge clk) s1 <= d;
    reg [17:0] s2;
    always @(posedge clk) s2 <= s1;
    reg [17:0] s3;
    always @(posedge clk) s3 <= s2;
    reg [17:0] s4;
    always @(posedge clk) s4 <= s3;
    reg [17:0] s5;
    always @(posedge clk) s5 <= s4;
    reg [17:0] s6;
    always @(posedge clk) s6 <= s5;
    reg [17:0] s7;
    always @(posedge clk) s7 <= s6;
    reg [17:0] s8;
    always @(posedge clk) s8 <= s7;
    reg [17:0] s9;
    always @(posedge clk) s9 <= s8;
    reg [17:0] s10;
    always @(posedge clk) s10 <= s9;
    reg [17:0] s11;
    always @(posedge clk) s11 <= s10;
    reg [17:0] s12;
    always @(posedge clk) s12 <= s11;
    reg [17:0] s13;
    always @(posedge clk) s13 <= s12;
    reg [17:0] s14;
    always @(posedge clk) s14 <= s13;
    reg [17:0] s15;
    always @(posedge clk) s15 <= s14;
    reg [17:0] s16;
    always @(posedge clk) s16 <= s15;
    reg [17:0] s17;
    always @(posedge clk) s17 <= s16;
    reg [17:0] s18;
    always @(posedge clk) s18 <= s17;
    assign q = s18;
endmodule

// One pair of `p2p_paper` per clock, 26 cycles from pins to outputs.
// At 150 MHz on `generic`: 1176 flip-flop bits in operators, 396 in delay lines.
module p2p_paper_pipeline (
    input  wire clk,
    input  wire [31:0] i_xi_0,
    input  wire [31:0] i_xi_1,
    input  wire [31:0] i_xi_2,
    input  wire [31:0] j_xj_0,
    input  wire [31:0] j_xj_1,
    input  wire [31:0] j_xj_2,
    input  wire [17:0] j_mj,
    output wire [63:0] o_pout,
    output wire [4:0] flags
);
    wire [17:0] j_mj_d18;
    delay_18_by_18 wait_j_mj_d18 (
        .clk(clk),
        .d(j_mj),
        .q(j_mj_d18)
    );
    // ---- cycle 0
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_7;
    sub_int32_int32 u7_sub_sub_7 (
        .clk(clk),
        .a(j_xj_0),
        .b(i_xi_0),
        .q(sub_7)
    );
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_8;
    sub_int32_int32 u8_sub_sub_8 (
        .clk(clk),
        .a(j_xj_1),
        .b(i_xi_1),
        .q(sub_8)
    );
    // line 6: dx  = (float18.9)(xj - xi); (int32, ready in cycle 1)
    wire [31:0] sub_9;
    sub_int32_int32 u9_sub_sub_9 (
        .clk(clk),
        .a(j_xj_2),
        .b(i_xi_2),
        .q(sub_9)
    );
    // ---- cycle 1
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_0;
    tofloat_int32_float18_9 u10_tofloat_dx_0 (
        .clk(clk),
        .a(sub_7),
        .q(dx_0)
    );
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_1;
    tofloat_int32_float18_9 u11_tofloat_dx_1 (
        .clk(clk),
        .a(sub_8),
        .q(dx_1)
    );
    // line 6: dx  = (float18.9)(xj - xi); (float18.9, ready in cycle 5)
    wire [17:0] dx_2;
    tofloat_int32_float18_9 u12_tofloat_dx_2 (
        .clk(clk),
        .a(sub_9),
        .q(dx_2)
    );
    wire [17:0] dx_2_d4;
    delay_18_by_4 wait_dx_2_d4 (
        .clk(clk),
        .d(dx_2),
        .q(dx_2_d4)
    );
    // ---- cycle 5
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 8)
    wire [17:0] fmul_13;
    wire [1:0] fmul_13_f;
    fmul_float18_9_float18_9 u13_fmul_fmul_13 (
        .clk(clk),
        .a(dx_0),
        .b(dx_0),
        .q(fmul_13),
        .f(fmul_13_f)
    );
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 8)
    wire [17:0] fmul_14;
    wire [1:0] fmul_14_f;
    fmul_float18_9_float18_9 u14_fmul_fmul_14 (
        .clk(clk),
        .a(dx_1),
        .b(dx_1),
        .q(fmul_14),
        .f(fmul_14_f)
    );
    // ---- cycle 8
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 12)
    wire [17:0] fadd_16;
    wire fadd_16_f;
    fadd_float18_9_float18_9_p3 u16_fadd_fadd_16 (
        .clk(clk),
        .a(fmul_13),
        .b(fmul_14),
        .q(fadd_16),
        .f(fadd_16_f)
    );
    // ---- cycle 9
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 12)
    wire [17:0] fmul_15;
    wire [1:0] fmul_15_f;
    fmul_float18_9_float18_9 u15_fmul_fmul_15 (
        .clk(clk),
        .a(dx_2_d4),
        .b(dx_2_d4),
        .q(fmul_15),
        .f(fmul_15_f)
    );
    // ---- cycle 12
    // line 7: r2  = dx * dx; (float18.9, ready in cycle 16)
    wire [17:0] r2;
    wire r2_f;
    fadd_float18_9_float18_9_p3 u17_fadd_r2 (
        .clk(clk),
        .a(fmul_15),
        .b(fadd_16),
        .q(r2),
        .f(r2_f)
    );
    // ---- cycle 16
    // line 8: inr = pg_pow(r2, -1, 2); (float18.9, ready in cycle 18)
    wire [17:0] inr;
    pow_float18_9_nm1_d2_p1 u18_pow_inr (
        .clk(clk),
        .a(r2),
        .q(inr)
    );
    // ---- cycle 18
    // line 9: mr  = inr * mj; (float18.9, ready in cycle 21)
    wire [17:0] mr;
    wire [1:0] mr_f;
    fmul_float18_9_float18_9_p2 u19_fmul_mr (
        .clk(clk),
        .a(j_mj_d18),
        .b(inr),
        .q(mr),
        .f(mr_f)
    );
    // ---- cycle 21
    // line 11: pout += (int64)(mr << 45); (float18.9, ready in cycle 22)
    wire [17:0] fscale_20;
    wire fscale_20_f;
    fscale_float18_9_n45_d0 u20_fscale_fscale_20 (
        .clk(clk),
        .a(mr),
        .q(fscale_20),
        .f(fscale_20_f)
    );
    // ---- cycle 22
    // line 11: pout += (int64)(mr << 45); (int64, ready in cycle 26)
    wire [63:0] pout;
    wire pout_f;
    tofix_float18_9_int64 u21_tofix_pout (
        .clk(clk),
        .a(fscale_20),
        .q(pout),
        .f(pout_f)
    );
    // ---- the flags travel with their pair
    reg overflow_c9;
    always @(posedge clk) overflow_c9 <= |{fmul_13_f[0], fmul_14_f[0]};
    reg overflow_c10;
    always @(posedge clk) overflow_c10 <= overflow_c9;
    reg overflow_c11;
    always @(posedge clk) overflow_c11 <= overflow_c10;
    reg overflow_c12;
    always @(posedge clk) overflow_c12 <= overflow_c11;
    reg overflow_c13;
    always @(posedge clk) overflow_c13 <= |{overflow_c12, fmul_15_f[0], fadd_16_f};
    reg overflow_c14;
    always @(posedge clk) overflow_c14 <= overflow_c13;
    reg overflow_c15;
    always @(posedge clk) overflow_c15 <= overflow_c14;
    reg overflow_c16;
    always @(posedge clk) overflow_c16 <= overflow_c15;
    reg overflow_c17;
    always @(posedge clk) overflow_c17 <= |{overflow_c16, r2_f};
    reg overflow_c18;
    always @(posedge clk) overflow_c18 <= overflow_c17;
    reg overflow_c19;
    always @(posedge clk) overflow_c19 <= overflow_c18;
    reg overflow_c20;
    always @(posedge clk) overflow_c20 <= overflow_c19;
    reg overflow_c21;
    always @(posedge clk) overflow_c21 <= overflow_c20;
    reg overflow_c22;
    always @(posedge clk) overflow_c22 <= |{overflow_c21, mr_f[0]};
    reg overflow_c23;
    always @(posedge clk) overflow_c23 <= |{overflow_c22, fscale_20_f};
    reg overflow_c24;
    always @(posedge clk) overflow_c24 <= overflow_c23;
    reg overflow_c25;
    always @(posedge clk) overflow_c25 <= overflow_c24;
    reg overflow_c26;
    always @(posedge clk) overflow_c26 <= overflow_c25;
    reg underflow_c9;
    always @(posedge clk) underflow_c9 <= |{fmul_13_f[1], fmul_14_f[1]};
    reg underflow_c10;
    always @(posedge clk) underflow_c10 <= underflow_c9;
    reg underflow_c11;
    always @(posedge clk) underflow_c11 <= underflow_c10;
    reg underflow_c12;
    always @(posedge clk) underflow_c12 <= underflow_c11;
    reg underflow_c13;
    always @(posedge clk) underflow_c13 <= |{underflow_c12, fmul_15_f[1]};
    reg underflow_c14;
    always @(posedge clk) underflow_c14 <= underflow_c13;
    reg underflow_c15;
    always @(posedge clk) underflow_c15 <= underflow_c14;
    reg underflow_c16;
    always @(posedge clk) underflow_c16 <= underflow_c15;
    reg underflow_c17;
    always @(posedge clk) underflow_c17 <= underflow_c16;
    reg underflow_c18;
    always @(posedge clk) underflow_c18 <= underflow_c17;
    reg underflow_c19;
    always @(posedge clk) underflow_c19 <= underflow_c18;
    reg underflow_c20;
    always @(posedge clk) underflow_c20 <= underflow_c19;
    reg underflow_c21;
    always @(posedge clk) underflow_c21 <= underflow_c20;
    reg underflow_c22;
    always @(posedge clk) underflow_c22 <= |{underflow_c21, mr_f[1]};
    reg underflow_c23;
    always @(posedge clk) underflow_c23 <= underflow_c22;
    reg underflow_c24;
    always @(posedge clk) underflow_c24 <= underflow_c23;
    reg underflow_c25;
    always @(posedge clk) underflow_c25 <= underflow_c24;
    reg underflow_c26;
    always @(posedge clk) underflow_c26 <= underflow_c25;
    assign flags = {1'b0, 1'b0, pout_f, underflow_c26, overflow_c26};
    assign o_pout = pout;
endmodule

