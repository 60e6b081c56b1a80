# @{project.made}@: a Vivado project of @{project.top}@ for the board @{project.board.name}@, from its Verilog to its bitstream.
#
#     vivado -mode batch -source @{project.script}@
#
# writes @{project.bitstream}@ if the clock is met, timing.rpt and utilization.rpt.
cd [file dirname [file normalize [info script]]]
file delete -force @{project.bitstream}@
create_project @{project.top}@ vivado -part @{project.vendor.part}@ -force
add_files -norecurse @{project.verilog}@
add_files -fileset constrs_1 -norecurse @{project.pins}@
set_property top @{project.top}@ [current_fileset]
update_compile_order -fileset sources_1
launch_runs impl_1 -to_step write_bitstream
wait_on_run impl_1
open_run impl_1
report_timing_summary -file timing.rpt
report_utilization -file utilization.rpt
set slack [get_property SLACK [get_timing_paths]]
if {$slack < 0} { error "the clock is missed by [expr {-$slack}] ns: see timing.rpt" }
file copy -force vivado/@{project.top}@.runs/impl_1/@{project.top}@.bit @{project.bitstream}@
close_project
