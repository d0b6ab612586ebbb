"""The look: the reader's own fonts and colours, light or dark."""

STYLE = """\
:root { color-scheme: light dark; --ink: #1c2330; --paper: #ffffff; --quiet: #566072; --line: #d5dae3;
  --accent: #1f5fbf; --on-accent: #ffffff; --bar: #4c86d8; --warn: #a12622; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --paper: #14181f; --quiet: #a5afc0; --line: #38404e;
  --accent: #8ab4f8; --on-accent: #10151d; --bar: #5b93e0; --warn: #ff9d94; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
header, main { max-width: 60rem; margin: 0 auto; padding: 0.75rem 1rem; }
header { display: flex; flex-wrap: wrap; gap: 1rem; align-items: center; border-bottom: 1px solid var(--line); }
header strong { font-size: 1.15rem; margin-right: auto; }
a { color: var(--accent); }
h1 { font-size: 1.5rem; margin: 0.5rem 0; } h2 { font-size: 1.15rem; margin: 1.5rem 0 0.5rem; }
.skip { position: absolute; left: -99rem; } .skip:focus { position: static; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
form.ask { display: grid; gap: 0.9rem; max-width: 34rem; }
fieldset { border: 1px solid var(--line); border-radius: 0.4rem; }
label { display: block; font-weight: 600; }
label.inline { display: inline-block; font-weight: 400; margin-right: 1rem; }
input[type=text], input[type=number], input[type=password] { width: 100%; padding: 0.45rem; font: inherit;
  color: inherit; background: transparent; border: 1px solid var(--quiet); border-radius: 0.3rem; }
button { font: inherit; padding: 0.5rem 1.1rem; border: 1px solid var(--accent); border-radius: 0.3rem; cursor: pointer;
  background: var(--accent); color: var(--on-accent); }
button.second { background: transparent; color: var(--accent); }
.hint { color: var(--quiet); font-size: 0.9rem; margin: 0.15rem 0 0; }
.alert { border-left: 4px solid var(--warn); padding: 0.5rem 0.9rem; color: var(--warn); }
.note { border-left: 4px solid var(--accent); padding: 0.5rem 0.9rem; white-space: pre-line; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; } caption { text-align: left; color: var(--quiet); }
th, td { text-align: left; padding: 0.35rem 0.7rem 0.35rem 0; border-bottom: 1px solid var(--line); vertical-align: top;
  overflow-wrap: anywhere; }
meter { width: 8rem; }
svg { max-width: 100%; height: auto; } svg text { fill: var(--ink); font: 13px system-ui, sans-serif; }
svg .bar { fill: var(--bar); } svg .whisker { stroke: var(--ink); stroke-width: 1.5; }
pre { white-space: pre-wrap; font: inherit; }
"""
