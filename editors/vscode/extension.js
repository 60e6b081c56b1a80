// Starts `pairforge lsp` and leaves the rest to it.

const { commands, window, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function start() {
  const command = workspace.getConfiguration("pg2").get("server.path") || "pairforge";
  const server = { command, args: ["lsp"] };
  const options = { documentSelector: [{ language: "pg2" }] };
  client = new LanguageClient("pg2", "PG2", server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showErrorMessage(
      `PG2: \`${command} lsp\` does not start (${error.message}). ` +
        "Build it with `cargo build --release` and name it in the setting `pg2.server.path`.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart() {
  await stop();
  await start();
}

exports.activate = async function (context) {
  context.subscriptions.push(
    commands.registerCommand("pg2.restart", restart),
    workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("pg2.server") && restart()),
  );
  await start();
};

exports.deactivate = stop;
