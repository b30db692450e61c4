"""How the page looks: on screens of any width, light and dark, and in print."""

STYLE = """
:root { --ink: #1c1f23; --paper: #ffffff; --soft: #5b6570; --line: #d9dee4;
  --grid: #e6e6e6; --card: #f5f7f9; --link: #005a8c; --warn: #9a4a00;
  --warn-card: #fff4e5; --sure: #00674c; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --paper: #14171a;
  --soft: #a3adb7; --line: #363d45; --grid: #343a41; --card: #1d2126;
  --link: #7cc4f2; --warn: #ffb45c; --warn-card: #33261a; --sure: #5fd0ac; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.5rem 1.25rem 3rem; max-width: 60rem;
  background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .75rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 .75rem; }
h3 { font-size: 1.05rem; margin: 1.25rem 0 .5rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: .35rem 1rem; list-style: none;
  margin: 0; padding: 0; font-size: .95rem; }
section { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 1.5rem; }
dl { margin: .75rem 0; }
dt { color: var(--soft); font-size: .9rem; }
dd { margin: 0; overflow-wrap: anywhere; }
.facts { display: grid; gap: .6rem 1.5rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); }
.facts dd { font-variant-numeric: tabular-nums; font-weight: 600; }
.notes > div { display: grid; grid-template-columns: 8.5rem 1fr; gap: 0 1rem;
  padding: .35rem .75rem; border-left: 3px solid var(--line); margin-bottom: .4rem; }
.notes > .guarantee { border-left-color: var(--sure); }
.notes > .guarantee dt { color: var(--sure); font-weight: 600; }
.notes > .warning { border-left-color: var(--warn); background: var(--warn-card); }
.notes > .warning dt { color: var(--warn); font-weight: 600; }
.wide { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .95rem; min-width: 60%; }
th, td { padding: .3rem .75rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--soft); font-weight: 500; vertical-align: bottom; }
tbody th { font-weight: 500; }
figure { margin: 1rem 0; max-width: 40rem; }
figure svg { display: block; width: 100%; height: auto; }
figcaption, .aside, footer { color: var(--soft); font-size: .9rem; }
pre { overflow-x: auto; background: var(--card); padding: .75rem 1rem;
  font: .85rem/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .75rem; }
@media (max-width: 40rem) {
  body { padding: 1rem .9rem 2rem; }
  .notes > div { grid-template-columns: 1fr; }
  .facts { grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); }
  table { font-size: .82rem; }
  /* a shade at the edge of a table that goes on */
  .wide { background:
    linear-gradient(var(--paper), var(--paper)) right -2px top 0 / 1.5rem 100%
    no-repeat local,
    linear-gradient(to left, var(--line), transparent) right / 1rem 100% no-repeat
    scroll; }
  th, td { padding: .3rem .4rem; }
  /* a row keeps its name while its numbers are moved into view */
  th:first-child { position: sticky; left: 0; background: var(--paper); } }
@page { margin: 15mm; }
@media print {
  :root { --ink: #000000; --paper: #ffffff; --soft: #444444; --line: #bbbbbb;
    --grid: #e6e6e6; --card: #ffffff; --link: #000000; --warn: #000000;
    --warn-card: #ffffff; --sure: #000000; }
  body { max-width: none; padding: 0; font-size: 10pt; }
  nav { display: none; }
  .facts { grid-template-columns: repeat(4, 1fr); gap: .4rem 1rem; }
  .notes > div { grid-template-columns: 6.5rem 1fr; }
  .wide { overflow: visible; }
  table { font-size: 8.5pt; }
  th, td { white-space: normal; padding: .15rem .4rem; }
  pre { white-space: pre-wrap; border: 1px solid var(--line); }
  figure, table, tr, .notes > div, .facts > div { break-inside: avoid; }
  h2, h3 { break-after: avoid; } }
"""
