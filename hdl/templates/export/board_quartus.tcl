# @{made}@: a Quartus project of @{top}@ for the board @{board.name}@, from its Verilog to its bitstream.
#
#     quartus_sh -t @{script}@
#
# writes @{bitstream}@. Whether the clock is met is in output_files/@{top}@.sta.rpt: look there before it is loaded.
package require ::quartus::project
package require ::quartus::flow

cd [file dirname [file normalize [info script]]]
file delete -force @{bitstream}@
project_new @{top}@ -overwrite
set_global_assignment -name FAMILY "@{vendor.family}@"
set_global_assignment -name DEVICE @{vendor.part}@
set_global_assignment -name TOP_LEVEL_ENTITY @{top}@
set_global_assignment -name PROJECT_OUTPUT_DIRECTORY output_files
set_global_assignment -name GENERATE_RBF_FILE ON
set_global_assignment -name VERILOG_FILE @{verilog}@
set_global_assignment -name SDC_FILE @{clock}@
source @{pins}@
export_assignments
execute_flow -compile
file copy -force output_files/@{top}@.rbf @{bitstream}@
project_close
