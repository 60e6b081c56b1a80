//! A real client: Neovim edits kernels, and what its buffers have then is what its user sees.

use super::{Place, Value, json};
use std::process::Command;

/// The script that Neovim runs. It writes its findings as JSON, and anything that goes wrong as `error`.
const SCRIPT: &str = r#"
local found = {}
local function write() vim.fn.writefile({ vim.fn.json_encode(found) }, "found.json") end
local function wait(what, is_there)
  if not vim.wait(20000, is_there, 20) then error("waited in vain for " .. what) end
end
local function messages()
  return vim.tbl_map(function(d) return d.message end, vim.diagnostic.get(0))
end
local ok, why = pcall(function()
  vim.cmd("edit main.pg2")
  local client = vim.lsp.start_client({ name = "pairforge", cmd = { vim.env.PAIRFORGE, "lsp" }, root_dir = vim.fn.getcwd(),
    workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = "w" } } })
  vim.lsp.buf_attach_client(0, client)
  local function ask(method, line, character, more)
    local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character } }
    local answers = vim.lsp.buf_request_sync(0, method, vim.tbl_extend("force", params, more or {}), 20000)
    for _, answer in pairs(answers or {}) do
      if answer.error then error(method .. ": " .. vim.inspect(answer.error)) end
      return answer.result
    end
    error(method .. ": no answer")
  end
  local function apply(edit) vim.lsp.util.apply_workspace_edit(edit, "utf-16") end
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  found.first = messages()
  -- All remedies at once, as a save of many editors does.
  local whole = { start = { line = 0, character = 0 }, ["end"] = { line = 0, character = 0 } }
  local actions = ask("textDocument/codeAction", 0, 0, { range = whole, context = { diagnostics = {}, only = { "source.fixAll" } } })
  apply(actions[1].edit)
  wait("an end of diagnostics", function() return #vim.diagnostic.get(0) == 0 end)
  found.mended = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  found.hover = ask("textDocument/hover", 4, 0).contents.value
  local labels = function(items) return vim.tbl_map(function(i) return i.label end, items.items or items) end
  found.inside = labels(ask("textDocument/completion", 5, 13))
  apply(ask("textDocument/rename", 4, 0, { newName = "distance" }))
  found.renamed = vim.api.nvim_buf_get_lines(0, 4, 6, false)
  found.symbols = vim.tbl_map(function(s) return s.name end, ask("workspace/symbol", 0, 0, { query = "half" }))
  vim.lsp.util.apply_text_edits(ask("textDocument/formatting", 0, 0, { options = { tabSize = 4, insertSpaces = true } }),
    0, "utf-16")
  found.formatted = vim.api.nvim_buf_get_lines(0, 0, -1, false)
  -- A function that takes long holds nothing up for longer than an editor waits.
  local before = vim.fn.reltime()
  vim.api.nvim_buf_set_lines(0, 5, 6, false, { 'y = pg_fn(distance, sin(exp(sin(30 * distance) + cos(77 * distance * distance))), 0.5, 8);' })
  ask("textDocument/hover", 4, 0)
  found.seconds = vim.fn.reltimefloat(vim.fn.reltime(before))
  -- An edit of the included file reaches the kernel.
  local main = vim.api.nvim_get_current_buf()
  vim.cmd("split lib.pg2")
  vim.lsp.buf_attach_client(0, client)
  vim.api.nvim_buf_set_lines(0, 0, 1, false, { "const other = 1 / 2;" })
  wait("a name that is gone", function()
    for _, d in ipairs(vim.diagnostic.get(main)) do
      if d.message:find("half_of_it") then return true end
    end
  end)
  vim.lsp.stop_client(client)
  wait("the end of the server", function() return vim.lsp.client_is_stopped(client) end)
end)
if not ok then found.error = tostring(why) end
write()
vim.cmd("qall!")
"#;

#[test]
#[ignore = "a proof in depth"]
fn neovim_edits_a_kernel() {
    if !testkit::require("nvim") {
        return;
    }
    let place = Place::new();
    place.write("lib.pg2", "const half_of_it = 1 / 2;\n");
    let main = "include \"lib.pg2\";\nfloat25.16 x jipn;\ntype real = float25.16;\nfixed64.30 o fout\n\
                r = x * half_of_it;\ny = pg_fn(r, exp(r), 0.5, 8);\no += (fixed64.30)(y + 0.5f);\n";
    place.write("main.pg2", main);
    place.write("script.lua", SCRIPT);
    let ended = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "-n", "-c", "luafile script.lua"])
        .current_dir(place.path("."))
        .env("PAIRFORGE", env!("CARGO_BIN_EXE_pairforge"))
        .env("XDG_CACHE_HOME", place.path("cache"))
        .output()
        .expect("Neovim starts");
    assert!(place.path("found.json").exists(), "{}", String::from_utf8_lossy(&ended.stderr));
    let found = place.json("found.json");
    assert_eq!(found["error"], Value::Null, "{found}");
    let list = |name: &str| -> Vec<String> {
        let items = found[name].as_array().unwrap_or_else(|| panic!("no list {name}: {found}"));
        items.iter().filter_map(|i| i.as_str().map(str::to_string)).collect()
    };
    assert!(list("first").iter().any(|m| m.contains("jipn")), "{found}");
    let mended = main.replace("jipn", "jpin").replace("fout", "fout;").replace("0.5f", "0.5");
    assert_eq!(list("mended").join("\n") + "\n", mended);
    assert!(found["hover"].as_str().is_some_and(|text| text.contains("float25.16")), "{}", found["hover"]);
    let inside = list("inside");
    assert!(inside.contains(&"erfc".to_string()) && !inside.contains(&"pg_abs".to_string()), "{inside:?}");
    assert_eq!(list("renamed"), ["distance = x * half_of_it;", "y = pg_fn(distance, exp(distance), 0.5, 8);"]);
    assert_eq!(found["symbols"], json!(["half_of_it"]));
    let formatted = pg2::syntax::fmt::format(
        &(mended.replace("r = x", "distance = x").replace("(r, exp(r)", "(distance, exp(distance)")),
    );
    assert_eq!(Some(list("formatted").join("\n") + "\n"), formatted.ok());
    // Two seconds of a core, and room for a machine that does more, with code that is not optimised.
    assert!(found["seconds"].as_f64().is_some_and(|s| s < 20.0), "{}", found["seconds"]);
}
