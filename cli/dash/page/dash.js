'use strict';
// The page of octet dash and octet report. Text of runs gets into it as text nodes only; charts
// know runs by numbers.
(function () {
  const PERIOD_MS = 1000;
  const SHOWN_AT_FIRST = 12;
  const ROWS = 100;      // of the table of runs at once
  // Configurations are told apart by colour and, beyond ten, by dashes as well. Each colour has a contrast of 3 or more to
  // the page's ground, light and dark.
  const COLOURS = ['#1f7ae0', '#d9580f', '#2b9a45', '#a855c7', '#d63384', '#0c93a3', '#a07a00', '#7b61d9', '#7a828c', '#e5383b'];
  const DOTS_MAX = 40;  // points of a curve that are drawn as dots, too
  const NAMED_KEYS = 6;  // that the name of a configuration has
  const GOAL_DASHES = [6, 4];
  const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
  const SMALL = ['policy_bytes', 'divergence', 'agreement', 'policy_lag', 'replay_size', 'samples_per_insert', 'wait_share', 'actor_wait_share', 'env_steps_per_s', 'updates_per_s'];
  // What an axis calls a column of metrics.csv. Other columns have their names there, with the unit of UNITS.
  const TITLES = {
    eval_return: 'evaluation: mean return per episode',
    train_return: 'training: mean return per episode',
    train_length: 'training: mean length of an episode (steps)',
    policy_bytes: 'policy as sent, delta or complete (bytes)',
    policy_bytes_fp32_ratio: 'policy as sent: share of its fp32 weights',
    divergence: 'divergence of the quantised policy (relative L2 to fp32)',
    agreement: 'agreement: share of equal actions, quantised and fp32',
    policy_lag: 'lag of the acting policies (versions)',
    replay_size: 'replay size (windows)',
    samples_per_insert: 'samples per insert',
    wait_share: 'share of time that the learner waits',
    actor_wait_share: 'share of time that actors wait',
    env_steps_per_s: 'environment steps per second',
    updates_per_s: 'updates per second',
  };
  const UNITS = [['_per_s', 'per second'], ['_ms', 'ms'], ['_s', 's'], ['_bytes', 'bytes'], ['_share', 'share of 1']];
  const GOAL_OF = ['eval_return', 'train_return'];  // columns that have the unit of the goal
  // The library's legend sets styles by attribute, which the page's own policy forbids; names of runs
  // are not for it anyway, because it would take them for HTML.
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);

  // Numbers of a replay, as daemons and metrics.csv name them, and what the page calls them.
  const REPLAY = [
    ['replay.size', 'windows held'], ['replay.insert_rate', 'inserts per second'], ['replay.sample_rate', 'samples per second'],
    ['replay.samples_per_insert', 'samples per insert so far'], ['replay.limiter.balance', 'limiter: balance (samples)'],
    ['replay.limiter.balance_min', 'limiter: lowest balance'], ['replay.limiter.balance_max', 'limiter: highest balance'],
    ['replay.insert_wait_share', 'inserts held back (share of time)'], ['replay.sample_wait_share', 'samples held back (share of time)'],
    ['replay.sessions', 'sessions of actors'], ['replay.duplicates', 'duplicate batches, ignored'], ['replay.memory_bytes', 'memory (bytes)'],
    ['replay.disk_bytes', 'replay file (bytes)'],
  ];
  const REPLAY_ROW = [['replay_size', 'windows held'], ['inserts', 'inserts'], ['samples', 'samples'], ['samples_per_insert', 'samples per insert so far'],
    ['given_up', 'windows given up']];
  // What acting threads do, with the colour of each part.
  const ACTING = [['infer', '#0b6bcb', 'run the policy'], ['env', '#2b8a3e', 'step environments'], ['collect', '#8f6b00', 'build rows into batches'],
    ['wait', '#6b7480', 'wait for room in the ring']];
  const AXES = {env_steps: 'environment steps', updates: 'updates', wall_s: 's'};

  const snapshot = document.getElementById('snapshot');
  const answers = snapshot ? JSON.parse(snapshot.textContent) : null;
  let all = {runs: [], defaults: {}, changes: -1};
  const chosen = new Set();  // ids whose curves are drawn
  const known = new Set();   // ids that were offered once: a tick that was removed stays so
  const begun = new Set();   // ids that were live: offered once more, because a run is silent until its learner answers
  let focus = -1;            // id of the run whose details are shown
  let sorted = null;         // {title: of the column, isFalling}; null: in the order in which they were found
  let from = 0;              // the first row that is shown
  let column = 'eval_return';
  let axis = 'env_steps';
  let isAxisChosen = false;
  const cache = new Map();   // path -> {changes, data}
  const charts = new Map();  // element -> {graph, view: of which numbers it is}
  let shown = '';            // of which run, as of which change, the details are
  let updates = 0;

  // ---- parts

  function byId(id) { return document.getElementById(id); }

  function el(tag, props, ...children) {
    const out = document.createElement(tag);
    for (const [name, value] of Object.entries(props || {})) {
      if (name === 'data') Object.assign(out.dataset, value);
      else if (name === 'on') out.addEventListener(...value);
      else out[name] = value;
    }
    out.append(...children.filter((child) => child !== null && child !== undefined));
    return out;
  }

  function number(value) {
    if (typeof value !== 'number' || !isFinite(value)) return '–';
    const size = Math.abs(value);
    const short = (part) => String(Number(part.toPrecision(4)));
    if (size >= 1e13) return value.toExponential(2);
    if (size >= 1e9) return short(value / 1e9) + ' G';
    if (size >= 1e6) return short(value / 1e6) + ' M';
    if (size >= 1e4) return short(value / 1e3) + ' k';
    if (Number.isInteger(value)) return String(value);
    return size >= 1e-3 || value === 0 ? short(value) : value.toExponential(2);
  }

  function titleOf(name) {
    const unit = UNITS.find(([end]) => name.endsWith(end));
    return TITLES[name] || (unit ? `${name} (${unit[1]})` : name);
  }

  function percent(value) { return typeof value === 'number' ? Math.round(100 * value) + ' %' : '–'; }

  function duration(seconds) {
    if (typeof seconds !== 'number' || !isFinite(seconds)) return '–';
    if (seconds < 120) return number(Math.round(10 * seconds) / 10) + ' s';
    if (seconds < 7200) return Math.round(seconds / 60) + ' min';
    return (seconds / 3600).toFixed(1) + ' h';
  }

  function colourOf(group) { return COLOURS[group % COLOURS.length]; }

  function dashesOf(group) { return DASHES[Math.floor(group / COLOURS.length) % DASHES.length]; }

  function colourOfStyle(name) { return getComputedStyle(document.body).getPropertyValue(name).trim(); }

  function drawing(tag, attributes, ...children) {
    const out = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
    out.append(...children);
    return out;
  }

  function line(stroke, width, dashes) {
    return drawing('svg', {class: 'swatch', viewBox: '0 0 26 10'}, drawing('line', {x1: 0, x2: 26, y1: 5, y2: 5, stroke, 'stroke-width': width, 'stroke-dasharray': dashes.join(' ')}));
  }

  // A piece of a group's line.
  function swatch(group) { return line(colourOf(group), 4, dashesOf(group)); }

  // Makes old what now is. What is as it was stays, and with it the keyboard's focus, a click that has begun, what is
  // marked or scrolled, and a video that plays. The row of another run is another row, because its buttons are.
  function become(old, now) {
    if (old.nodeName !== now.nodeName || (old.dataset && old.dataset.run !== now.dataset.run)) {
      old.replaceWith(now);
      return;
    }
    if (old.nodeType === Node.TEXT_NODE) {
      if (old.data !== now.data) old.data = now.data;
      return;
    }
    for (const {name} of [...old.attributes]) if (!now.hasAttribute(name)) old.removeAttribute(name);
    for (const {name, value} of now.attributes) {
      if (name === 'style') old.style.cssText = value; // the page's own policy forbids the attribute
      else if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    if (old.type === 'checkbox') [old.checked, old.indeterminate] = [now.checked, now.indeterminate];
    while (old.childNodes.length > now.childNodes.length) old.lastChild.remove();
    const count = old.childNodes.length;
    [...now.childNodes].forEach((child, i) => { if (i < count) become(old.childNodes[i], child); else old.append(child); });
  }

  function replace(id, ...children) {
    const now = byId(id).cloneNode(false);
    now.append(...children.filter(Boolean));
    become(byId(id), now);
  }

  function row(tag, cells) { return el('tr', {}, ...cells.map((cell) => (cell instanceof Element && /^T[DH]$/.test(cell.tagName) ? cell : el(tag, {}, cell)))); }

  function table(head, rows) { return el('table', {}, row('th', head), ...rows.map((cells) => row('td', cells))); }

  function runOf(id) { return all.runs.find((run) => run.id === id); }

  // ---- data

  async function get(path) {
    if (answers) return path in answers ? answers[path] : null;
    const answer = await fetch(path, {cache: 'no-store'});
    if (answer.status === 404) return null;
    if (!answer.ok) throw new Error(path + ': ' + answer.status);
    return answer.json();
  }

  async function fresh(path, changes) {
    const before = cache.get(path);
    if (before && before.changes === changes) return before.data;
    const data = await get(path);
    cache.set(path, {changes, data});
    return data;
  }

  // Of a configuration that is not understood nothing is known.
  function setting(run, key) { return !run.config ? undefined : key in run.config ? run.config[key] : all.defaults[key]; }

  // Keys whose values differ between runs; seeds, names and addresses do not make a difference.
  function differences(some) {
    const runs = some.filter((run) => run.config);
    const keys = Object.keys(all.defaults).filter((key) => key !== 'run.seed' && key !== 'run.name' && !key.startsWith('net.'));
    return keys.filter((key) => runs.some((run) => setting(run, key) !== setting(runs[0], key)));
  }

  // The return at which a run ends, null without one.
  function goalOf(run) {
    const goal = run.summary ? run.summary.goal : parseFloat(setting(run, 'run.stop_at_return'));
    return typeof goal === 'number' && isFinite(goal) ? goal : null;
  }

  function goals() {
    if (!GOAL_OF.includes(column)) return [];
    return [...new Set(all.runs.filter((run) => chosen.has(run.id)).map(goalOf))].filter((goal) => goal !== null).sort((a, b) => a - b);
  }

  // A run that another folder has, too, counts once.
  function membersOf(group) { return all.runs.filter((run) => run.group === group && run.copy_of === null); }

  // The parts of a configuration's name: its environment, and how it differs from others of that environment in the charts,
  // the algorithm first.
  function groupParts(group) {
    const first = all.runs.find((run) => run.group === group);
    const keys = differences(all.runs.filter((run) => chosen.has(run.id) && run.env === first.env));
    keys.sort((a, b) => (b === 'algo.name') - (a === 'algo.name'));
    return [first.env || first.name, ...keys.map((key) => key + '=' + setting(first, key))];
  }

  function groupName(group) {
    const parts = groupParts(group), hidden = parts.length - 1 - NAMED_KEYS;
    return parts.slice(0, NAMED_KEYS + 1).join(' · ') + (hidden > 0 ? ` · ${hidden} more key${hidden > 1 ? 's differ' : ' differs'} (below)` : '');
  }

  // A run is called by the part of its path in which it differs from the others.
  function nameRuns() {
    if (all.runs.length < 2) return;
    const paths = all.runs.map((run) => run.folder.split('/').filter(Boolean));
    let same = 0;
    while (paths.every((path) => same < path.length - 1 && path[same] === paths[0][same])) same++;
    all.runs.forEach((run, i) => { run.name = paths[i].slice(same).join('/'); });
  }

  function at(object, key) { return key.split('.').reduce((value, part) => (value ? value[part] : undefined), object); }

  // ---- the table of runs

  // The return of the policy that ships, null while there is none.
  function finalReturn(run) {
    const result = at(run.summary, 'return');
    return result && typeof result.mean === 'number' ? result : null;
  }

  // While there is none, the last evaluation.
  function returnCell(run) {
    const result = finalReturn(run);
    if (result) {
      const sampled = result.actions === 'sampled' ? 'sampled ' : '';
      return el('td', {data: {run: run.id, key: 'return.mean', value: result.mean}, title: `policy.oct (${result.precision}) over ${result.episodes} ${sampled}episodes`},
        sampled + number(result.mean) + ' ± ' + number(result.std));
    }
    return el('td', {className: 'soft', title: 'last evaluation; the run has no result yet'}, number(run.last.eval_return));
  }

  // Of an ended run, as its summary says.
  function count(run, key, inSummary = key) {
    const ended = run.status === 'ended' && run.summary;
    return ended && typeof run.summary[inSummary] === 'number' ? run.summary[inSummary] : run.last[key];
  }

  function seconds(run) { return count(run, 'wall_s', 'learner_wall_s'); }

  function countCell(run, key) {
    const value = count(run, key);
    return el('td', {data: {run: run.id, key, value: value === undefined ? '' : value}}, number(value));
  }

  // The newest policy as it was sent, most often a delta.
  function policyCell(run) {
    const share = run.last.policy_bytes_fp32_ratio;
    return el('td', {data: {run: run.id, key: 'policy_bytes'}, title: titleOf('policy_bytes')}, number(run.last.policy_bytes) + (share > 0 ? ` (${percent(share)} of fp32)` : ''));
  }

  function statusCell(run) {
    const silent = (answers ? 'no daemon was at work in its folder on this machine' : 'no daemon answers') + ', and there is no summary';
    const unknown = 'there is no summary, and only its owner may look at the locks in its folder';
    const why = run.why ? 'it cannot be read: ' + run.why : run.status === 'silent' ? silent : run.status === 'unknown' ? unknown : '';
    const words = run.status === 'ended' && run.summary.reason ? 'ended: ' + run.summary.reason : run.status;
    const part = run.summary && run.summary.unevaluated_why ? ' without a full evaluation' : '';
    const doubts = run.doubts.length > 0 ? el('span', {className: 'silent'}, ` (${run.doubts.length} warning${run.doubts.length > 1 ? 's' : ''})`) : '';
    return el('td', {className: 'text ' + run.status, title: [why, ...run.doubts].join('\n').trim()}, words + part, doubts);
  }

  // runs: whose box it is when it is clicked.
  function box(runs) {
    const now = runs(), ticked = now.filter((run) => chosen.has(run.id)).length;
    return el('input', {type: 'checkbox', checked: ticked === now.length, indeterminate: ticked > 0 && ticked < now.length, on: ['change', (event) => {
      for (const run of runs()) if (event.target.checked) chosen.add(run.id); else chosen.delete(run.id);
      showRuns();
      show();
    }]});
  }

  function nameCell(run) {
    const name = el('button', {type: 'button', className: 'name', title: run.folder, on: ['click', () => { focus = run.id; showRuns(); show(); }]}, run.name);
    const copied = all.runs.find((other) => other.id === run.copy_of);
    return el('td', {className: 'text'}, box(() => [run]), ' ', swatch(run.group), name, el('span', {className: 'soft'}, copied ? ` copy of ${copied.name}` : ''));
  }

  function counted(title, key) { return [title, (run) => countCell(run, key), (run) => count(run, key)]; }

  // Titles, cells, and what rows are sorted by.
  const COLUMNS = [
    ['run', nameCell, (run) => run.name],
    ['state', statusCell, (run) => run.status],
    ['environment', (run) => el('td', {className: 'text'}, run.env), (run) => run.env],
    ['seed', (run) => (run.seed === null ? '–' : String(run.seed)), (run) => run.seed],
    ['return', returnCell, (run) => (finalReturn(run) ? finalReturn(run).mean : run.last.eval_return)],
    counted('steps', 'env_steps'),
    counted('updates', 'updates'),
    ['time', (run) => duration(seconds(run)), seconds],
    counted('steps/s', 'env_steps_per_s'),
    ['policy as sent (bytes)', policyCell, (run) => run.last.policy_bytes],
  ];

  // What is not known comes last.
  function inOrder() {
    const words = byId('filter').value.toLowerCase().split(' ');
    const runs = all.runs.filter((run) => words.every((word) => [run.name, run.status, run.env].join(' ').toLowerCase().includes(word)));
    if (!sorted) return runs;
    const value = COLUMNS.find(([title]) => title === sorted.title)[2];
    const missing = (run) => value(run) === undefined || value(run) === null;
    const compared = (a, b) => (typeof a === 'string' ? a.localeCompare(b, undefined, {numeric: true}) : a - b);
    return runs.sort((a, b) => missing(a) - missing(b) || (missing(a) ? 0 : compared(value(a), value(b)) * (sorted.isFalling ? -1 : 1)));
  }

  // A click sorts by the column, numbers from the greatest on; the next one the other way, the third as it was.
  function heading([title, , value]) {
    const isOf = () => sorted !== null && sorted.title === title;
    const button = el('button', {type: 'button', on: ['click', () => {
      const isNumber = all.runs.some((run) => typeof value(run) === 'number');
      sorted = !isOf() ? {title, isFalling: isNumber} : sorted.isFalling === isNumber ? {title, isFalling: !isNumber} : null;
      showRuns();
    }]}, title + (!isOf() ? '' : sorted.isFalling ? ' ▾' : ' ▴'));
    return el('th', {}, ...(title === 'run' && all.runs.length > 1 ? [box(inOrder), ' '] : []), button);
  }

  // Some of many rows, so that a browser stays quick; what is sorted, filtered or ticked as a whole is all of them.
  function showRuns() {
    const runs = inOrder();
    from = Math.max(0, Math.min(from, ROWS * Math.floor((runs.length - 1) / ROWS)));
    const some = runs.slice(from, from + ROWS);
    const rows = some.map((run) => {
      const out = row('td', COLUMNS.map(([, cell]) => cell(run)));
      out.className = run.id === focus ? 'chosen' : '';
      out.dataset.run = run.id;
      return out;
    });
    replace('runs', row('th', COLUMNS.map(heading)), ...rows);
    byId('find').hidden = all.runs.length <= ROWS && byId('filter').value === '';
    byId('place').textContent = runs.length === 0 ? 'no run' : `${from + 1}–${from + some.length} of ${runs.length}` + (runs.length < all.runs.length ? ` (${all.runs.length} in all)` : '');
    byId('previous').disabled = from === 0;
    byId('next').disabled = from + ROWS >= runs.length;
    showDifferences(some);
    replace('unshown', all.unshown > 0 ? `${all.unshown} older run${all.unshown > 1 ? 's are' : ' is'} not shown: at most ${all.runs.length} are, live ones first.` : all.runs.length === 0 ? 'There is no run yet.' : '');
  }

  function showGroups() {
    const groups = [...new Set(all.runs.filter((run) => chosen.has(run.id)).map((run) => run.group))];
    replace('groups', ...groups.map((group) => {
      const members = membersOf(group);
      const ticked = members.filter((run) => chosen.has(run.id)).length;
      const count = ticked < members.length ? ` · ${ticked} of ${members.length} runs, the mean is of all` : ticked > 1 ? ` · ${ticked} runs` : '';
      return el('li', {title: groupParts(group).join(' · ')}, swatch(group), el('span', {}, groupName(group), el('span', {className: 'soft'}, count)));
    }), ...goals().map((goal) => el('li', {title: 'goal'}, line('currentColor', 2, GOAL_DASHES), el('span', {}, 'goal: ' + number(goal), el('span', {className: 'soft'}, ' (run.stop_at_return)')))));
  }

  function showColumns() {
    const names = [...new Set(all.runs.flatMap((run) => Object.keys(run.last)))].filter((name) => !answers || answers.report.columns.includes(name)).sort();
    const select = byId('column');
    if (names.join() === select.dataset.names) return;
    select.dataset.names = names.join();
    if (!names.includes(column)) column = names.includes('eval_return') ? 'eval_return' : names.includes('train_return') ? 'train_return' : names[0] || 'eval_return';
    select.replaceChildren(...names.map((name) => el('option', {value: name, selected: name === column}, name)));
  }

  function showDifferences(some) {
    const keys = differences(all.runs);
    if (keys.length === 0) {
      replace('differences', row('td', [all.runs.length > 1 ? 'All runs have the same configuration.' : 'Only one run: nothing to compare.']));
      return;
    }
    replace('differences', row('th', ['run', ...keys]), ...some.map((run) => row('td', [run.name, ...keys.map((key) => setting(run, key) ?? '–')])));
  }

  // ---- charts

  // Several curves of other x each: one row for each x, and one for 0, where the axis begins; gaps where a curve has none.
  function joined(curves) {
    const xs = [...new Set([0, ...curves.flatMap((curve) => curve.x)])].sort((a, b) => a - b);
    const index = new Map(xs.map((x, i) => [x, i]));
    const rows = xs.map((x) => [x, ...curves.map(() => null)]);
    curves.forEach((curve, i) => curve.x.forEach((x, k) => { rows[index.get(x)][i + 1] = curve.y[k]; }));
    return rows;
  }

  async function curvesOf(name, withMeans) {
    const runs = all.runs.filter((run) => chosen.has(run.id));
    const out = [];
    if (!withMeans || byId('seeds').checked) {
      for (const run of runs) {
        const data = run.last[name] === undefined ? null : await fresh(`/curve/${run.id}/${axis}/${name}`, run.changes);
        if (data && data.x.length > 0) {
          out.push({label: 'r' + run.id, text: run.name, group: run.group, width: withMeans ? 1 : 1.3, x: data.x, y: data.y.map((y) => [y, y, y])});
        }
      }
    }
    for (const group of withMeans && byId('means').checked ? new Set(runs.map((run) => run.group)) : []) {
      const members = membersOf(group);
      const changes = members.map((run) => run.id + ':' + run.changes).join();
      const data = members.length > 1 ? await fresh(`/mean/${group}/${axis}/${name}`, changes) : null;
      // Only where every run has a value: the mean of those that go on is another number.
      const whole = data ? data.x.map((x, i) => i).filter((i) => data.n[i] === members.length) : [];
      if (whole.length > 0) {
        out.push({label: 'g' + group, text: 'mean of ' + members.length + ': ' + groupName(group), group, width: 3, x: whole.map((i) => data.x[i]),
          y: whole.map((i) => [Math.max(data.range[0], data.mean[i] - data.std[i]), data.mean[i], Math.min(data.range[1], data.mean[i] + data.std[i])])});
      }
    }
    const end = Math.max(...out.map((curve) => curve.x[curve.x.length - 1]));
    for (const goal of withMeans && out.length > 0 ? goals() : []) {
      out.push({label: 'goal' + goal, text: 'goal', group: null, width: 1.5, x: [0, end], y: [[goal, goal, goal], [goal, goal, goal]]});
    }
    return out;
  }

  function lineOf(curve) {
    const [color, strokePattern] = curve.group === null ? [colourOfStyle('--ink'), GOAL_DASHES] : [colourOf(curve.group), dashesOf(curve.group)];
    return {color, strokePattern, strokeWidth: curve.width, drawPoints: curve.group !== null && curve.x.length <= DOTS_MAX, pointSize: 2};
  }

  // The y axis begins at 0, except where a value is below. title: of the y axis; null where it is written above the chart.
  function options(curves, title, say) {
    const series = Object.fromEntries(curves.map((curve) => [curve.label, lineOf(curve)]));
    const includeZero = curves.every((curve) => curve.y.every(([least]) => least >= 0));
    return {
      labels: ['x', ...curves.map((curve) => curve.label)], xlabel: byId('axis').selectedOptions[0].textContent, xLabelHeight: 16, ylabel: title, yLabelWidth: 18, series, customBars: true,
      connectSeparatedPoints: true, fillAlpha: 0.18, axes: {x: {axisLabelFormatter: number, valueFormatter: number}, y: {axisLabelFormatter: number, axisLabelWidth: 58, includeZero}},
      gridLineColor: colourOfStyle('--line'), axisLineColor: 'transparent', highlightCircleSize: 3,
      highlightSeriesOpts: {strokeWidth: 3},
      highlightCallback: (event, x, points, index, label) => {
        const point = points.find((p) => p.name === label) || points[0];
        const curve = curves.find((c) => c.label === (point && point.name));
        if (curve) say(curve.text + ': ' + number(point.yval) + ' at ' + number(x) + ' ' + AXES[axis]);
      },
      unhighlightCallback: () => say(''),
    };
  }

  function draw(place, curves, title, say) {
    const view = [all.server, axis, place.dataset.column].join();
    const before = charts.get(place);
    if (curves.length === 0) {
      if (before) before.graph.destroy();
      charts.delete(place);
      place.replaceChildren(el('p', {className: 'soft'}, 'no numbers yet'));
      return;
    }
    const rows = joined(curves);
    // What is zoomed stays so, whichever curves come or go.
    if (before && before.view === view) {
      before.graph.updateOptions({file: rows, ...options(curves, title, say)});
      return;
    }
    if (before) before.graph.destroy();
    place.replaceChildren();
    charts.set(place, {graph: new Dygraph(place, rows, options(curves, title, say)), view});
  }

  function smallPlaces() {
    const places = byId('charts');
    if (places.children.length === 0) {
      for (const name of SMALL) places.append(el('div', {}, el('div', {className: 'soft'}, titleOf(name)), el('div', {className: 'chart', data: {column: name}})));
    }
    return [...places.querySelectorAll('.chart')];
  }

  // Until something else is due: who clicks does not wait for all charts.
  async function drawAll() {
    showGroups();
    byId('main').dataset.column = column;
    draw(byId('main'), await curvesOf(column, true), titleOf(column), (text) => { byId('pointed').textContent = text; });
    for (const place of smallPlaces()) {
      if (isDue) return;
      draw(place, await curvesOf(place.dataset.column, false), null, (text) => { place.title = text; });
    }
  }

  // ---- details of one run

  function flat(value, name, out) {
    if (value !== null && typeof value === 'object') for (const [key, part] of Object.entries(value)) flat(part, name ? name + '.' + key : key, out);
    else out.push([name, value]);
    return out;
  }

  // How the training thread and the acting threads spent their time: over all of an ended run, else in the last row.
  function shares(run) {
    const names = ['infer', 'env', 'collect', 'wait'];
    const seconds = run.status === 'ended' ? run.summary.actor_seconds : null;
    if (!seconds) return {of: 'of the last row', learner: run.last.wait_share, actors: Object.fromEntries(names.map((name) => [name, run.last[`actor_${name}_share`]]))};
    const sum = names.reduce((all, name) => all + (seconds[name] || 0), 0);
    return {of: 'of the run', learner: run.summary.learner_wait_share, actors: Object.fromEntries(names.map((name) => [name, sum > 0 ? seconds[name] / sum : undefined]))};
  }

  // The parts of the time, and below them what each colour stands for.
  function shareBar(actors) {
    const parts = ACTING.map(([name, colour, text]) => ({name, colour, text, share: actors[name] || 0}));
    const bar = el('div', {className: 'bar'}, ...parts.map(({name, colour, share}) => {
      const part = el('span', {title: name + ' ' + percent(share)});
      part.style.width = 100 * share + '%';
      part.style.background = colour;
      return part;
    }));
    return el('div', {}, bar, el('ul', {className: 'key'}, ...parts.map(({name, colour, text, share}) => el('li', {}, line(colour, 10, []), `${name} ${percent(share)}: ${text}`))));
  }

  function waiting(run) {
    const waits = run.state && run.state.waiting;
    const time = shares(run);
    const text = waits ? waits.why : `The learner waited ${percent(time.learner)} ${time.of}, actors ${percent(time.actors.wait)}.`;
    return el('div', {}, el('h3', {}, 'Who waits for whom'), el('p', {id: 'waiting'}, text), el('div', {className: 'soft'}, 'How actors spend their time:'), shareBar(time.actors),
      run.state && run.state.warning ? el('p', {className: 'warning'}, run.state.warning) : null);
  }

  function relays(list) {
    if (list.length === 0) return null;
    return el('div', {}, el('h3', {}, 'Relays'), table(['host', 'pid', 'address', 'through', 'actors', 'last report'],
      list.map((relay) => [relay.host, String(relay.pid), relay.address || 'serves other relays only', relay.above || 'learner and replay', String(relay.actors),
        relay.silent ? el('td', {className: 'silent'}, 'silent') : duration(relay.heard_s)])));
  }

  function peers(run) {
    const list = at(run.state, 'peers.list') || [], between = at(run.state, 'peers.relays') || [];
    const names = new Map(between.map((relay) => [relay.address, relay.host + '/' + relay.pid]));
    const state = (peer) => {
      const since = {stuck: peer.stuck_s, 'no acks': peer.unacked_s}[peer.health];
      const text = since ? peer.health + ' ' + duration(since) : peer.health || (peer.silent ? 'silent' : 'live');
      return ['stuck', 'no acks', 'silent'].some((word) => text.startsWith(word)) ? el('td', {className: 'silent'}, text) : text;
    };
    const through = (cells) => names.size > 0 ? cells : [];
    if (list.length === 0) return el('div', {}, el('h3', {}, 'Actors'), el('p', {className: 'soft'}, run.state ? 'none is known yet' : 'octet dash shows actors while the run is live.'));
    const hosts = new Map();
    for (const peer of list) {
      const host = hosts.get(peer.host) || {count: 0, speed: 0};
      host.count++;
      host.speed += peer.steps_per_s || 0;
      hosts.set(peer.host, host);
    }
    return el('div', {}, el('h3', {}, 'Hosts'), table(['host', 'processes', 'steps/s'], [...hosts].map(([name, host]) => [name, String(host.count), number(host.speed)])),
      relays(between),
      el('h3', {}, 'Actors and evaluators'),
      table(['id', 'role', 'host', 'pid', 'state', 'policy version', 'lag (versions)', 'steps/s', 'infer', 'env', 'wait', 'unacknowledged batches', 'last report', ...through(['relay'])],
        list.map((peer) => [peer.id, peer.role, peer.host, String(peer.pid), state(peer), number(peer.policy_version), number(peer.lag_versions), number(peer.steps_per_s), percent(peer.infer_share),
          percent(peer.env_share), percent(peer.wait_share), number(peer.unacked), duration(peer.heard_s),
          ...through([(peer.relay && names.get(peer.relay)) || '–'])])));
  }

  function replay(run) {
    const numbers = at(run.state, 'replay.numbers');
    const rows = (numbers ? REPLAY : REPLAY_ROW).map(([name, text]) => [text, (numbers || run.last)[name]]);
    const set = ['capacity', 'samples_per_insert', 'tolerance'].map((key) => ['replay.' + key, setting(run, 'replay.' + key)]).filter((pair) => pair[1] !== undefined);
    return el('div', {}, el('h3', {}, 'Replay and limiter'),
      table(['number', 'value'], [...set, ...rows.map(([name, value]) => [name, number(value)])]));
  }

  function summary(run) {
    if (!run.summary) return el('div', {}, el('h3', {}, 'Summary'), el('p', {className: 'soft'}, 'summary.json is written when the run ends.'));
    return el('div', {}, el('h3', {}, 'Summary'), el('table', {id: 'summary'}, ...flat(run.summary, '', []).map(([name, value]) =>
      row('td', [name, el('td', {data: {key: name}}, value === null ? 'null' : String(value))]))));
  }

  // How many weights have each code; the greatest count is as high as the picture.
  function histogram(layer, index) {
    const most = Math.max(...layer.counts, 1);
    const svg = drawing('svg', {viewBox: `0 0 ${layer.counts.length} 100`, preserveAspectRatio: 'none', class: 'codes'}, ...layer.counts.map((count, i) =>
      drawing('rect', {x: i, y: 100 - 100 * count / most, width: 0.9, height: 100 * count / most})));
    const end = (layer.counts.length - 1) / 2;
    const total = layer.counts.reduce((a, b) => a + b, 0);
    if (total === 0) return null; // a pool has no weights
    return el('div', {data: {layer: index, total}}, el('div', {className: 'soft'}, `layer ${index} (${layer.inputs} → ${layer.outputs}): ${percent(layer.counts[end] / total)} of the codes are 0, `
      + `${percent((layer.counts[0] + layer.counts[2 * end]) / total)} are ±${end}; at most ${most} weights have one code`), svg,
      el('div', {className: 'soft ticks'}, ...['−' + end, 'code: 0', String(end)].map((text) => el('span', {}, text))));
  }

  async function codes(run) {
    const place = el('div', {id: 'codes'}, el('h3', {}, 'Codes of the weights'));
    const data = run.policy === null ? null : await fresh(`/codes/${run.id}`, run.policy);
    if (!data) place.append(el('p', {className: 'soft'}, 'There is no policy.oct yet.'));
    else if (data.layers.length === 0) place.append(el('p', {className: 'soft'}, 'The policy has ' + data.precision + ' weights: no codes.'));
    else place.append(el('div', {className: 'soft'}, `policy.oct, version ${data.version}, ${data.precision}`), ...data.layers.map(histogram).filter((drawn) => drawn !== null));
    return place;
  }

  function video(run) {
    if (!run.video) return null;
    const path = `/video/${run.id}`;
    const source = answers ? answers[path] : path + '?' + run.video_written; // a page loads an image once for each address
    if (!source) return null;
    const show = run.video.startsWith('image/') ? el('img', {src: source, alt: 'episodes of the policy'}) : el('video', {src: source, controls: true, loop: true, muted: true});
    return el('div', {id: 'video'}, el('h3', {}, 'The policy'), show);
  }

  async function showDetails() {
    const run = runOf(focus);
    const now = run ? run.id + ':' + run.changes : '';
    if (now === shown) return;
    if (!run) { shown = now; replace('details'); return; }
    const weights = await codes(run);
    if (run.id !== focus) return;
    shown = now;
    replace('details', el('h2', {}, swatch(run.group), run.name), el('p', {className: 'soft'}, run.folder), waiting(run),
      ...run.doubts.map((text) => el('p', {className: 'doubt silent'}, text)),
      el('div', {className: 'columns'}, replay(run), weights, video(run), summary(run)), peers(run));
  }

  // ---- updates

  function choose() {
    for (const id of chosen) if (!runOf(id)) chosen.delete(id);
    for (const run of all.runs) {
      const hasBegun = run.status === 'live' && !begun.has(run.id);
      if (hasBegun || (!known.has(run.id) && chosen.size < SHOWN_AT_FIRST)) chosen.add(run.id);
      known.add(run.id);
      if (hasBegun) begun.add(run.id);
    }
    if (!isAxisChosen) {  // runs that learn from a data set alone count no steps
      axis = all.runs.length > 0 && all.runs.every((run) => run.offline) ? 'updates' : 'env_steps';
      byId('axis').value = axis;
    }
    if (!runOf(focus) && all.runs.length > 0) focus = (all.runs.find((run) => run.status === 'live') || all.runs[0]).id;
  }

  // Another server counts its runs anew.
  function forget() {
    chosen.clear();
    known.clear();
    begun.clear();
    cache.clear();
    focus = -1;
    shown = '';
  }

  // Draws what is due; what a failed request left undrawn is due still.
  let isDrawing = false;
  let isDue = false;
  async function drawDue() {
    if (isDrawing) return;
    isDrawing = true;
    try {
      while (isDue) {
        isDue = false;
        await showDetails();
        await drawAll();
      }
    } catch (error) {
      isDue = true;
      throw error;
    } finally {
      isDrawing = false;
    }
  }

  function failed(error) {
    byId('state').textContent = 'octet dash does not answer (' + error.message + '): what is below may be out of date';
    byId('state').className = 'warning';
  }

  function show() {
    isDue = true;
    drawDue().catch(failed);
  }

  async function update() {
    const now = all.changes < 0 ? null : await get('/changes');
    if (!now || now.server !== all.server || now.changes !== all.changes) {
      const before = all;
      all = await get('/runs');
      if (all.server !== before.server) forget();
      nameRuns();
      choose();
      showRuns();
      showColumns();
      isDue = true;
    }
    await drawDue();
    updates++;
    const live = all.runs.filter((run) => run.status === 'live').length;
    const runs = all.runs.length === 1 ? '1 run' : all.runs.length + ' runs';
    byId('state').textContent = answers ? 'report of ' + runs + ', ' + answers.report.made : runs + ', ' + live + ' live' + (all.reading ? ', still reading' : '');
    byId('state').className = 'soft';
    byId('state').dataset.updates = updates;
    byId('state').dataset.reading = all.reading;
  }

  async function keepUp() {
    try {
      await update();
    } catch (error) {
      failed(error);
    }
    if (!answers) setTimeout(keepUp, PERIOD_MS);
  }

  byId('column').addEventListener('change', (event) => { column = event.target.value; show(); });
  byId('filter').addEventListener('input', () => { from = 0; showRuns(); });
  byId('previous').addEventListener('click', () => { from -= ROWS; showRuns(); });
  byId('next').addEventListener('click', () => { from += ROWS; showRuns(); });
  byId('axis').addEventListener('change', (event) => { axis = event.target.value; isAxisChosen = true; show(); });
  for (const id of ['seeds', 'means']) byId(id).addEventListener('change', show);
  keepUp();
})();
