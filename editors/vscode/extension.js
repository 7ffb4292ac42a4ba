// Starts `tripipe lsp` for kernels, launch files and tripipe.toml.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
    const settings = workspace.getConfiguration("tripipe");
    const server = { command: settings.get("command"), args: ["lsp"] };
    client = new LanguageClient("tripipe", "Tripipe", server, {
        documentSelector: [{ language: "opencl" }, { scheme: "file", pattern: "**/*.toml" }],
        initializationOptions: {
            gpu: settings.get("gpu"),
            launches: settings.get("launches"),
            options: settings.get("options"),
        },
        synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{toml,h}") },
    });
    return client.start();
};

exports.deactivate = () => client?.stop();
