# @{made}@: a Vivado project of @{top}@ for the board @{board.name}@, from its Verilog to its bitstream.
#
#     vivado -mode batch -source @{script}@
#
# writes @{bitstream}@ if the clock is met, timing.rpt and utilization.rpt.
cd [file dirname [file normalize [info script]]]
file delete -force @{bitstream}@
create_project @{top}@ vivado -part @{vendor.part}@ -force
add_files -norecurse @{verilog}@
add_files -fileset constrs_1 -norecurse @{pins}@
set_property top @{top}@ [current_fileset]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream
wait_on_run impl_1
open_run impl_1
report_timing_summary -file timing.rpt
report_utilization -file utilization.rpt
set slack [get_property SLACK [get_timing_paths]]
if {$slack < 0} { error "the clock is missed by [expr {-$slack}] ns: see timing.rpt" }
file copy -force vivado/@{top}@.runs/impl_1/@{top}@.bit @{bitstream}@
close_project
