//! The server: what it keeps of the editor's texts, and what it answers.
//!
//! One thread reads messages, one reviews texts as a whole; this one answers, and reviews quickly what has changed once
//! no message waits.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::thread;

use anyhow::{Result, anyhow};
use gen_lsp_types::json_rpc::{Error as RpcError, Id, RequestObject, ResponseObject};
use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionParams, CodeActionRequest, CompletionOptions,
    CompletionParams, CompletionRequest, DidChangeTextDocumentParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, ErrorCodes, HoverParams, HoverRequest, InitializeRequest, InitializeResult,
    InlayHintParams, InlayHintRefreshRequest, InlayHintRequest, MessageType, PublishDiagnosticsNotification,
    PublishDiagnosticsParams, Request, ServerCapabilities, ServerInfo, ShowMessageNotification,
    ShowMessageParams, ShutdownRequest, TextDocumentContentChangeEvent, TextDocumentSyncKind,
    TextDocumentSyncOptions, Uri,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tripipe_ir::diagnostic::Severity;
use tripipe_launch_file as launch_file;

use super::answers::{self, NAME};
use super::frame;
use super::review::{Depth, Job, Remark, Review};
use super::settings::{FILE, Settings};
use super::text::path_of;
use crate::finish::Finish;

/// What the server waits for.
enum Event {
    /// A message of the editor.
    Message(Vec<u8>),
    /// The end of its messages, or why they cannot be read.
    Ended(io::Result<()>),
    /// A text that was reviewed as a whole, in this version.
    Reviewed(String, i32, Review),
}

/// A text of the editor.
struct EditedText {
    version: i32,
    text: String,
    path: PathBuf,
    review: Review,
    /// Whether it, or what it is priced for, has changed since the review.
    is_changed: bool,
}

/// A text to review as a whole: its name and version.
type ReviewOrder = (String, i32, Job);

/// Where the conversation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Serving,
    ShutDown,
}

struct Server<'o> {
    out: &'o mut dyn Write,
    phase: Phase,
    /// What the command line says, and the editor.
    settings: Settings,
    texts: BTreeMap<String, EditedText>,
    orders: Sender<ReviewOrder>,
    /// Whether the editor asks for hints again when it is told to.
    refreshes_hints: bool,
    /// The requests that were sent.
    requests: i32,
}

/// Serves until the editor ends it. The exit code is 1 if it does so without a request.
///
/// # Errors
/// Messages cannot be read or written.
pub(super) fn serve(settings: Settings, out: &mut dyn Write) -> Result<Finish> {
    let (events, waiting) = mpsc::channel();
    let (orders, ordered) = mpsc::channel();
    let reader = events.clone();
    thread::Builder::new().name("tripipe-reader".to_owned()).spawn(move || read_all(&reader))?;
    thread::Builder::new()
        .name("tripipe-reviewer".to_owned())
        .spawn(move || review_all(&ordered, &events))?;
    let mut server = Server {
        out,
        phase: Phase::Before,
        settings,
        texts: BTreeMap::new(),
        orders,
        refreshes_hints: false,
        requests: 0,
    };
    loop {
        let event = match waiting.try_recv() {
            Ok(event) => event,
            Err(TryRecvError::Empty) => {
                server.review_changed()?;
                waiting.recv()?
            }
            Err(error) => return Err(error.into()),
        };
        match event {
            Event::Message(message) => {
                if let Some(finish) = server.message(&message)? {
                    return Ok(finish);
                }
            }
            Event::Ended(Ok(())) => return Ok(Finish::Findings),
            Event::Ended(Err(error)) => return Err(anyhow!("the editor's messages: {error}")),
            Event::Reviewed(uri, version, review) => server.reviewed(&uri, version, review)?,
        }
    }
}

/// Sends all messages of standard input.
fn read_all(events: &Sender<Event>) {
    let mut input = BufReader::new(io::stdin());
    loop {
        let event = match frame::read(&mut input) {
            Ok(Some(message)) => Event::Message(message),
            Ok(None) => Event::Ended(Ok(())),
            Err(error) => Event::Ended(Err(error)),
        };
        let is_last = matches!(event, Event::Ended(_));
        if events.send(event).is_err() || is_last {
            return;
        }
    }
}

/// Reviews texts as a whole, the newest version of each.
fn review_all(orders: &Receiver<ReviewOrder>, events: &Sender<Event>) {
    while let Ok((uri, version, job)) = orders.recv() {
        let mut newest = BTreeMap::from([(uri, (version, job))]);
        for (uri, version, job) in orders.try_iter() {
            newest.insert(uri, (version, job));
        }
        for (uri, (version, job)) in newest {
            if events.send(Event::Reviewed(uri, version, Review::of(&job, Depth::Whole))).is_err() {
                return;
            }
        }
    }
}

impl Server<'_> {
    /// Handles a message; returns how to finish if it is the last one.
    fn message(&mut self, message: &[u8]) -> Result<Option<Finish>> {
        let Ok(Value::Object(mut message)) = serde_json::from_slice(message) else {
            self.refuse(Id::Null, ErrorCodes::ParseError, "want an object of JSON")?;
            return Ok(None);
        };
        let Some(Value::String(method)) = message.remove("method") else {
            // A response: to a request of this server, which waits for none.
            return Ok(None);
        };
        let params = message.remove("params").unwrap_or_default();
        match message.remove("id") {
            None => self.notification(&method, params),
            Some(id) => {
                let id = serde_json::from_value(id).unwrap_or(Id::Null);
                self.request(id, &method, params)?;
                Ok(None)
            }
        }
    }

    fn request(&mut self, id: Id, method: &str, params: Value) -> Result<()> {
        match (self.phase, method) {
            (Phase::Before, "initialize") => return self.initialize(id, &params),
            (Phase::Before, _) => {
                return self.refuse(id, ErrorCodes::ServerNotInitialized, "want `initialize` first");
            }
            (Phase::Serving, "initialize") | (Phase::ShutDown, _) => {
                return self.refuse(id, ErrorCodes::InvalidRequest, "not possible any more");
            }
            (Phase::Serving, "shutdown") => {
                self.phase = Phase::ShutDown;
                return self.answer::<ShutdownRequest>(id, ());
            }
            (Phase::Serving, _) => {}
        }
        // Answers are about the texts as they are now.
        self.review_changed()?;
        match method {
            "textDocument/hover" => self.with_params(id, params, |server, id, params: HoverParams| {
                let at = params.text_document_position_params;
                let text = server.texts.get(&at.text_document.uri.0);
                let hover = text.and_then(|text| answers::hover(&text.review, at.position));
                server.answer::<HoverRequest>(id, hover)
            }),
            "textDocument/inlayHint" => {
                self.with_params(id, params, |server, id, params: InlayHintParams| {
                    let text = server.texts.get(&params.text_document.uri.0);
                    let hints = text.map(|text| answers::hints(&text.review, &text.text, params.range));
                    server.answer::<InlayHintRequest>(id, hints)
                })
            }
            "textDocument/codeAction" => {
                self.with_params(id, params, |server, id, params: CodeActionParams| {
                    let uri = &params.text_document.uri;
                    let text = server.texts.get(&uri.0);
                    let actions = text.map(|text| {
                        let actions = answers::actions(&text.review, &text.text, uri, params.range);
                        actions.into_iter().map(Into::into).collect()
                    });
                    server.answer::<CodeActionRequest>(id, actions)
                })
            }
            "textDocument/completion" => {
                self.with_params(id, params, |server, id, params: CompletionParams| {
                    let at = params.text_document_position_params;
                    let text = server.texts.get(&at.text_document.uri.0).filter(|text| text.is_toml());
                    let items = text.map(|text| answers::completions(&text.text, at.position).into());
                    server.answer::<CompletionRequest>(id, items)
                })
            }
            _ => self.refuse(id, ErrorCodes::MethodNotFound, &format!("no method `{method}`")),
        }
    }

    fn notification(&mut self, method: &str, params: Value) -> Result<Option<Finish>> {
        match method {
            "exit" => {
                let is_clean = self.phase == Phase::ShutDown;
                return Ok(Some(if is_clean { Finish::Clean } else { Finish::Findings }));
            }
            _ if self.phase != Phase::Serving => {}
            "textDocument/didOpen" => {
                if let Ok(DidOpenTextDocumentParams { text_document }) = serde_json::from_value(params) {
                    let uri = text_document.uri.0;
                    let path = path_of(&uri).unwrap_or_else(|| PathBuf::from("unsaved.cl"));
                    let (version, text) = (text_document.version, text_document.text);
                    let text =
                        EditedText { version, text, path, review: Review::default(), is_changed: true };
                    self.texts.insert(uri, text);
                }
            }
            "textDocument/didChange" => {
                if let Ok(params) = serde_json::from_value::<DidChangeTextDocumentParams>(params) {
                    self.change(params);
                }
            }
            "textDocument/didClose" => {
                if let Ok(DidCloseTextDocumentParams { text_document }) = serde_json::from_value(params) {
                    self.texts.remove(&text_document.uri.0);
                    self.publish(&text_document.uri.0, None, Vec::new())?;
                }
            }
            // Settings, launch files or included files may have changed.
            "textDocument/didSave" | "workspace/didChangeWatchedFiles" => {
                for text in self.texts.values_mut() {
                    text.is_changed = true;
                }
            }
            // The protocol lets servers ignore what they do not know.
            _ => {}
        }
        Ok(None)
    }

    fn change(&mut self, params: DidChangeTextDocumentParams) {
        let Some(text) = self.texts.get_mut(&params.text_document.text_document_identifier.uri.0) else {
            return;
        };
        // The server asks for whole texts.
        for change in params.content_changes {
            if let TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) = change {
                text.text = whole.text;
                text.is_changed = true;
            }
        }
        text.version = params.text_document.version;
    }

    fn initialize(&mut self, id: Id, params: &Value) -> Result<()> {
        self.phase = Phase::Serving;
        self.refreshes_hints =
            params.pointer("/capabilities/workspace/inlayHint/refreshSupport") == Some(&Value::Bool(true));
        let root = params.pointer("/workspaceFolders/0/uri").or_else(|| params.get("rootUri"));
        let root = root.and_then(Value::as_str).and_then(path_of);
        let options = params.get("initializationOptions").unwrap_or(&Value::Null);
        let wrong = match Settings::of_editor(options, root.as_deref()) {
            Ok(settings) => {
                self.settings = settings.or(&self.settings);
                None
            }
            Err(wrong) => Some(wrong),
        };
        let capabilities = ServerCapabilities {
            text_document_sync: Some(
                TextDocumentSyncOptions {
                    open_close: Some(true),
                    change: Some(TextDocumentSyncKind::Full),
                    save: Some(true.into()),
                    ..TextDocumentSyncOptions::default()
                }
                .into(),
            ),
            hover_provider: Some(true.into()),
            inlay_hint_provider: Some(true.into()),
            code_action_provider: Some(
                CodeActionOptions {
                    code_action_kinds: Some(vec![CodeActionKind::QuickFix]),
                    ..CodeActionOptions::default()
                }
                .into(),
            ),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some(vec!["\"".to_owned(), "'".to_owned()]),
                ..CompletionOptions::default()
            }),
            ..ServerCapabilities::default()
        };
        let server_info = Some(ServerInfo::new(NAME.to_owned(), Some(env!("TRIPIPE_VERSION").to_owned())));
        self.answer::<InitializeRequest>(id, InitializeResult { capabilities, server_info })?;
        match wrong {
            Some(wrong) => {
                let message = format!("tripipe: initialization options: {wrong}");
                let params = ShowMessageParams { kind: MessageType::Warning, message };
                self.send(&RequestObject::from_notification::<ShowMessageNotification>(params))
            }
            None => Ok(()),
        }
    }

    /// Reviews what has changed, publishes what was found, and orders reviews as a whole.
    fn review_changed(&mut self) -> Result<()> {
        let changed: Vec<String> =
            self.texts.iter().filter(|(_, text)| text.is_changed).map(|(uri, _)| uri.clone()).collect();
        for uri in changed {
            let Some(text) = self.texts.get_mut(&uri) else { continue };
            text.is_changed = false;
            if text.is_toml() {
                text.review = Review { remarks: text.toml_remarks(), kernels: Vec::new() };
            } else {
                let (settings, wrong) = match Settings::beside(&text.path) {
                    Ok(settings) => (settings.or(&self.settings), None),
                    Err(wrong) => (self.settings.clone(), Some(wrong)),
                };
                let job = Job { path: text.path.clone(), text: text.text.clone(), settings, wrong };
                text.review = Review::of(&job, Depth::Quick);
                // There is no more to say of a text that does not compile. Without a reviewer, there is no whole review.
                if !text.review.kernels.is_empty() {
                    let _ = self.orders.send((uri.clone(), text.version, job));
                }
            }
            self.publish_review(&uri)?;
        }
        Ok(())
    }

    /// Publishes the whole review of a text, unless that has changed since.
    fn reviewed(&mut self, uri: &str, version: i32, review: Review) -> Result<()> {
        let text = self.texts.get_mut(uri).filter(|text| text.version == version && !text.is_changed);
        let Some(text) = text else { return Ok(()) };
        text.review = review;
        self.publish_review(uri)?;
        if self.refreshes_hints {
            self.requests += 1;
            let request = RequestObject::from_request::<InlayHintRefreshRequest>(self.requests.into(), ());
            self.send(&request)?;
        }
        Ok(())
    }

    fn publish_review(&mut self, uri: &str) -> Result<()> {
        let Some(text) = self.texts.get(uri) else { return Ok(()) };
        let diagnostics = answers::diagnostics(&text.review, &text.text);
        self.publish(uri, Some(text.version), diagnostics)
    }

    fn publish(
        &mut self,
        uri: &str,
        version: Option<i32>,
        diagnostics: Vec<gen_lsp_types::Diagnostic>,
    ) -> Result<()> {
        let params = PublishDiagnosticsParams { uri: Uri(uri.to_owned()), version, diagnostics };
        self.send(&RequestObject::from_notification::<PublishDiagnosticsNotification>(params))
    }

    /// Calls `then` with the parameters of a request, if they are as the protocol says.
    fn with_params<P: DeserializeOwned>(
        &mut self,
        id: Id,
        params: Value,
        then: impl FnOnce(&mut Self, Id, P) -> Result<()>,
    ) -> Result<()> {
        match serde_json::from_value(params) {
            Ok(params) => then(self, id, params),
            Err(error) => self.refuse(id, ErrorCodes::InvalidParams, &error.to_string()),
        }
    }

    fn answer<R: Request>(&mut self, id: Id, result: R::Result) -> Result<()> {
        self.send(&ResponseObject::from_success::<R>(id, result))
    }

    fn refuse(&mut self, id: Id, code: ErrorCodes, message: &str) -> Result<()> {
        let error = RpcError { code, message: message.to_owned(), data: None };
        self.send(&ResponseObject::from_error(id, error))
    }

    fn send(&mut self, message: &impl serde::Serialize) -> Result<()> {
        Ok(frame::write(self.out, message)?)
    }
}

impl EditedText {
    fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"))
    }

    /// What is wrong with a file of settings or a launch file; nothing for other TOML.
    fn toml_remarks(&self) -> Vec<Remark> {
        let fault = if self.path.file_name().is_some_and(|name| name == FILE) {
            let folder = self.path.parent().unwrap_or(Path::new(""));
            Settings::parse(&self.text, folder).err().map(|fault| (fault.location, fault.message))
        } else if is_launch_file(&self.text) {
            launch_file::parse(&self.text, "").err().map(|error| (error.location, error.reason.to_string()))
        } else {
            None
        };
        let remark = fault.map(|(at, message)| {
            let at = (at.line as u32, self.byte_column(at.line, at.column));
            Remark { at, severity: Severity::Error, message, rule: None, fix: None }
        });
        remark.into_iter().collect()
    }

    /// A column that counts characters, as one that counts bytes.
    fn byte_column(&self, line: usize, column: usize) -> u32 {
        let line = self.text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let byte = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(byte, _)| byte);
        byte as u32 + 1
    }
}

/// Whether TOML has the two keys that every launch file has.
fn is_launch_file(text: &str) -> bool {
    let has = |key: &str| {
        text.lines().any(|line| {
            line.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with('='))
        })
    };
    has("global") && (has("source") || has("spirv"))
}
