// Highlighting of PG2, by the words of the grammar in editors/vscode/syntaxes.

import { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const RULES: [RegExp, string][] = [
  [/^\/\/.*/, "comment"],
  [/^"[^"\n]*"/, "string"],
  [/^(?:(?:int|uint)[0-9]+|(?:fixed|ufixed|float|log)[0-9]+\.[0-9]+)\b/, "typeName"],
  [/^(?:include|for|in|if|else|return|where|const|fn|type|table|round)\b/, "keyword"],
  [/^(?:ipin|jpin|param|fout)\b/, "modifier"],
  [/^pg_[a-z0-9_]+/, "standardName"],
  [/^(?:0[xX][0-9A-Fa-f_]+|0[bB][01_]+|(?:[0-9]+(?:\.(?!\.)[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)/, "number"],
  [/^[A-Za-z_][A-Za-z0-9_]*/, "variableName"],
  [/^[-+*/%&|^~<>=!?:]+/, "operator"],
];

export const pg2 = StreamLanguage.define<{ isInComment: boolean }>({
  name: "pg2",
  startState: () => ({ isInComment: false }),
  token(stream, state) {
    if (state.isInComment || stream.match("/*")) {
      state.isInComment = !stream.match(/^.*?\*\//);
      if (state.isInComment) stream.skipToEnd();
      return "comment";
    }
    for (const [word, name] of RULES) if (stream.match(word)) return name;
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "//", block: { open: "/*", close: "*/" } }, closeBrackets: { brackets: ["(", "[", "{"] } },
  tokenTable: { modifier: tags.modifier, standardName: tags.standard(tags.name) },
});

export const colours = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
    { tag: [tags.keyword, tags.modifier], color: "var(--word)" },
    { tag: tags.typeName, color: "var(--kind)" },
    { tag: [tags.number, tags.string], color: "var(--number)" },
    { tag: tags.standard(tags.name), color: "var(--accent)", fontWeight: "600" },
  ]),
);
