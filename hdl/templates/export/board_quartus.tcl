# @{project.made}@: a Quartus project of @{project.top}@ for the board @{project.board.name}@, from its Verilog to its bitstream.
#
#     quartus_sh -t @{project.script}@
#
# writes @{project.bitstream}@. Whether the clock is met is in output_files/@{project.top}@.sta.rpt: look there before it is loaded.
package require ::quartus::project
package require ::quartus::flow

cd [file dirname [file normalize [info script]]]
file delete -force @{project.bitstream}@
project_new @{project.top}@ -overwrite
set_global_assignment -name FAMILY "@{project.vendor.family}@"
set_global_assignment -name DEVICE @{project.vendor.part}@
set_global_assignment -name TOP_LEVEL_ENTITY @{project.top}@
set_global_assignment -name PROJECT_OUTPUT_DIRECTORY output_files
set_global_assignment -name GENERATE_RBF_FILE ON
set_global_assignment -name VERILOG_FILE @{project.verilog}@
set_global_assignment -name SDC_FILE @{clock}@
source @{project.pins}@
export_assignments
execute_flow -compile
file copy -force output_files/@{project.top}@.rbf @{project.bitstream}@
project_close
