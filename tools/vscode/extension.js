// Starts "weir lsp" for the configurations in the editor. Everything else is the server's.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = function () {
  const settings = vscode.workspace.getConfiguration("weir");
  const server = { command: settings.get("path"), args: ["lsp"] };
  client = new LanguageClient("weir", "weir", server, {
    documentSelector: ["terraform", "terraform-vars", "opentofu"].map((language) => ({ scheme: "file", language })),
    initializationOptions: { providers: settings.get("providers"), hints: settings.get("hints") },
    synchronize: {
      configurationSection: "weir",
      fileEvents: vscode.workspace.createFileSystemWatcher("**/*.{tf,tofu,tfvars,tf.json,hcl}"),
    },
  });
  return client.start();
};

exports.deactivate = function () {
  return client && client.stop();
};
