// The editor, with the language server as any editor has it.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import {
  LSPClient, LSPPlugin, type LSPClientExtension, findReferencesKeymap, formatDocument, formatKeymap, hoverTooltips, jumpToDefinitionKeymap,
  renameKeymap, serverCompletion, signatureHelp,
} from "@codemirror/lsp-client";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import type { Compiler } from "./compiler";
import { colours, pg2 } from "./language";

/** A finding of the compiler with its remedies. */
export interface Problem {
  severity: "error" | "warning";
  code: string;
  message: string;
  from: number;
  to: number;
  line: number;
  remedies: { title: string; apply: () => void }[];
}

export interface Editor {
  view: EditorView;
  format(): void;
  /** Marks a line, or none, and shows it. */
  mark(line: number | null): void;
  replace(text: string): void;
  /** Is told that the server was started anew. It gets the text when that has changed, since it was this text that ended it. */
  restarted(): void;
}

interface Events {
  /** The problems of the text as it is now; then once more with their remedies, if there are any. */
  found(problems: Problem[], isFirst: boolean): void;
  /** The cursor is on another line. */
  moved(line: number): void;
  /** The server does not answer. */
  failed(why: string): void;
}

const URI = "file:///kernel.pg2";

/** Characters of a text at most: longer ones are not taken. */
export const LONGEST = 1 << 18;

const setLine = StateEffect.define<number | null>();
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    decorations = decorations.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (!effect.is(setLine)) continue;
      const line = effect.value;
      const isThere = line !== null && line >= 1 && line <= transaction.state.doc.lines;
      const at = isThere ? transaction.state.doc.line(line).from : 0;
      decorations = isThere ? Decoration.set([Decoration.line({ class: "cm-here" }).range(at)]) : Decoration.none;
    }
    return decorations;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const theme = EditorView.theme({
  "&": { fontSize: "14px", backgroundColor: "var(--ground)", color: "var(--ink)" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "DejaVu Sans Mono", monospace', lineHeight: "1.45" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 9%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--accent) 28%, transparent)" },
  ".cm-here": { backgroundColor: "var(--marked)" },
  ".cm-tooltip, .cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip": { maxWidth: "min(36rem, 92vw)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--ground)" },
  ".cm-lsp-documentation": { padding: ".2rem .6rem" },
});

/** Markdown of the server as plain elements: others, and all attributes, are left out. */
function plain(html: string): string {
  const allowed = new Set(["P", "PRE", "CODE", "EM", "STRONG", "UL", "OL", "LI", "BR", "HR", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"]);
  const from = new DOMParser().parseFromString(html, "text/html").body;
  const copied = (node: Node): Node[] => {
    if (node.nodeType === Node.TEXT_NODE) return [document.createTextNode(node.textContent ?? "")];
    const inside = [...node.childNodes].flatMap(copied);
    if (!(node instanceof Element) || !allowed.has(node.tagName)) return inside;
    const made = document.createElement(node.tagName);
    made.append(...inside);
    return [made];
  };
  const to = document.createElement("div");
  to.append(...[...from.childNodes].flatMap(copied));
  return to.innerHTML;
}

/** Calls a function as soon as the keys of one moment are there. */
const sending = (send: () => void) =>
  ViewPlugin.define(() => {
    let pending = 0;
    return {
      update(update) {
        if (!update.docChanged) return;
        window.clearTimeout(pending);
        pending = window.setTimeout(send, 8);
      },
      destroy: () => window.clearTimeout(pending),
    };
  });

interface Found {
  range: { start: any; end: any };
  severity?: number;
  code?: string;
  message: string;
}

/** Findings as marks in the text and as a list, with the remedies that the server has for each. */
function findings(events: Events): LSPClientExtension {
  return {
    clientCapabilities: {
      textDocument: {
        publishDiagnostics: { versionSupport: true },
        codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "source.fixAll"] } } },
      },
    },
    notificationHandlers: {
      "textDocument/publishDiagnostics": (client, params: { uri: string; version?: number; diagnostics: Found[] }) => {
        const file = client.workspace.getFile(params.uri);
        const view = file?.getView();
        const plugin = view && LSPPlugin.get(view);
        if (!file || !plugin || (params.version !== undefined && params.version !== file.version)) return true;
        const place = (at: any) => plugin.unsyncedChanges.mapPos(plugin.fromPosition(at, plugin.syncedDoc));
        const problems = params.diagnostics.map((found): Problem => {
          const from = place(found.range.start);
          const severity = found.severity === 2 ? "warning" : "error";
          return { severity, code: found.code ?? "", message: found.message, from, to: place(found.range.end), line: view.state.doc.lineAt(from).number, remedies: [] };
        });
        show(view, problems);
        events.found(problems, true);
        void remedies(client, view, params.diagnostics, problems).then(() => {
          if (file.version !== params.version || problems.every((p) => p.remedies.length === 0)) return;
          show(view, problems);
          events.found(problems, false);
        });
        return true;
      },
    },
  };
}

function show(view: EditorView, problems: Problem[]) {
  const one = (p: Problem): Diagnostic => ({
    from: p.from,
    to: p.to,
    severity: p.severity,
    source: p.code,
    message: p.message,
    actions: p.remedies.map((r) => ({ name: r.title, apply: () => r.apply() })),
  });
  view.dispatch(setDiagnostics(view.state, problems.map(one)));
}

/** Asks for the remedies of the first problems. */
async function remedies(client: LSPClient, view: EditorView, all: Found[], problems: Problem[]) {
  const some = all.slice(0, 30).map(async (found, k) => {
    const params = { textDocument: { uri: URI }, range: found.range, context: { diagnostics: [found], only: ["quickfix"] } };
    const actions = await client.request<unknown, any[] | null>("textDocument/codeAction", params).catch(() => null);
    const plugin = LSPPlugin.get(view);
    for (const action of actions ?? []) {
      const edits: { range: { start: any; end: any }; newText: string }[] = action.edit?.changes?.[URI] ?? [];
      if (edits.length === 0 || !plugin) continue;
      const doc = plugin.syncedDoc;
      const apply = () => {
        if (!view.state.doc.eq(doc)) return;
        const changes = edits.map((e) => ({ from: plugin.fromPosition(e.range.start, doc), to: plugin.fromPosition(e.range.end, doc), insert: e.newText }));
        view.dispatch({ changes, userEvent: "input.remedy" });
        view.focus();
      };
      problems[k]!.remedies.push({ title: String(action.title), apply });
    }
  });
  await Promise.all(some);
}

/** Makes the editor. Its server is the compiler's, and answers in the order of its messages. */
export function editor(parent: HTMLElement, compiler: Compiler, text: string, events: Events): Editor {
  const listeners = new Set<(message: string) => void>();
  const transport = {
    send: (message: string) => {
      compiler.call({ call: "lsp", message: JSON.parse(message) }).then(
        (answer: { messages: unknown[] }) => answer.messages.forEach((m) => listeners.forEach((listen) => listen(JSON.stringify(m)))),
        (why: Error) => events.failed(why.message),
      );
    },
    subscribe: (listen: (message: string) => void) => void listeners.add(listen),
    unsubscribe: (listen: (message: string) => void) => void listeners.delete(listen),
  };
  const client = new LSPClient({
    timeout: 6000,
    sanitizeHTML: plain,
    extensions: [findings(events), serverCompletion(), hoverTooltips({ hoverTime: 250 }), signatureHelp()],
  });
  let isNew = false;
  const send = () => {
    if (isNew) {
      isNew = false;
      client.workspace.syncFiles();
      client.disconnect();
      client.connect(transport);
    } else {
      client.sync();
    }
  };
  const lines = EditorView.updateListener.of((update) => {
    if (update.selectionSet || update.docChanged) events.moved(update.state.doc.lineAt(update.state.selection.main.head).number);
  });
  const short = EditorState.changeFilter.of((transaction) => {
    if (transaction.newDoc.length <= LONGEST) return true;
    events.failed(`The text was not taken: a kernel has at most ${LONGEST.toLocaleString("en")} characters here.`);
    return false;
  });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of("page"),
        lineNumbers(), history(), drawSelection(), bracketMatching(), closeBrackets(), autocompletion(), highlightActiveLine(), highlightSelectionMatches(),
        keymap.of([
          ...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...completionKeymap, ...lintKeymap, ...formatKeymap, ...renameKeymap,
          ...jumpToDefinitionKeymap, ...findReferencesKeymap,
        ]),
        pg2, colours, theme, marked, lintGutter(), lines, short, sending(send),
        EditorView.contentAttributes.of({ "aria-label": "PG2 source" }),
        client.plugin(URI, "pg2"),
      ],
    }),
  });
  client.connect(transport);
  return {
    view,
    format: () => void formatDocument(view),
    mark(line) {
      view.dispatch({ effects: setLine.of(line) });
      if (line !== null && line >= 1 && line <= view.state.doc.lines) view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "nearest" }) });
    },
    replace(next) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, effects: setLine.of(null) });
    },
    restarted() {
      isNew = true;
    },
  };
}
