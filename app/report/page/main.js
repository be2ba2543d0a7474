/* The page: what the embedded results say, section by section. */

const RESULTS = JSON.parse(document.getElementById('results').textContent);
const REFERENCE = 'atomicmalloc';
const NAMES = RESULTS.allocators.map(allocator => allocator.name);
const FULL = new Map(RESULTS.allocators.map(allocator => [allocator.name, allocator.full]));
const CELLS = new Map(RESULTS.cells.map(c => [keyOf(c.scene, c.pool, c.build.allocator), c]));

function keyOf(scene, pool, allocator) {
    return JSON.stringify([scene, pool, allocator]);
}

function starred(name) {
    return FULL.get(name) === false ? name + '*' : name;
}

function find(scene, pool, name) {
    return CELLS.get(keyOf(scene.path, pool, name));
}

function timeOf(found) {
    return found && found.outcome === 'done' && found.build.ms ? found.build.ms.median : null;
}

/* Whether slowdowns can be shown for a pool: every scene has a time of the reference. */
function hasReference(pool) {
    const done = RESULTS.cells.filter(found => found.pool === pool && timeOf(found) !== null);
    return done.length > 0 && done.every(found => found.build.slowdown !== null);
}

/* Short names of scenes, unless two were the same. */
function sceneName(path) {
    const short = new Set(RESULTS.scenes.map(scene => stem(scene.path)));
    return short.size === RESULTS.scenes.length ? stem(path) : path;
}

function section(title, ...contents) {
    const name = title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
    document.getElementById('contents').append(element('a', {href: '#' + name}, title), ' ');
    document.getElementById('main').append(element('section', {id: name},
                                                   element('h2', {}, title), ...contents));
}

/* The cell whose figures stand for all of a scene: of a full allocator, if any is done, for the
   others may ask for both children's arrays at once. */
function typical(scene) {
    const done = RESULTS.cells.filter(
        found => found.scene === scene.path && timeOf(found) !== null);
    return done.find(found => found.build.full_allocator && found.allocations) ||
        done.find(found => found.allocations) || done[0] || {};
}

function scenesTable() {
    const number = (title, hint) => ({title, number: true, hint});
    const columns = [
        {title: 'scene'}, number('N_tris'), number('N_ref', 'references from leaves per triangle'),
        number('N_alloc', 'requests during one build'),
        number('mean B', 'mean of the requested bytes'),
        number('deviation B', 'standard deviation of the requested bytes'),
        number('peak live', 'largest sum of the sizes of live requests'),
        number('SAH(1, 1.5)'), {title: 'tree', hint: 'digest'},
    ];
    const rows = RESULTS.scenes.map(scene => {
        const {tree, allocations} = typical(scene);
        return [
            {...words(sceneName(scene.path)), title: scene.path},
            cell(grouped(scene.triangles), scene.triangles),
            known(tree && tree.references_per_triangle, value => value.toFixed(2)),
            known(allocations && allocations.requests, grouped),
            known(allocations && allocations.mean_bytes, value => value.toFixed(1)),
            known(allocations && allocations.deviation_bytes, value => value.toFixed(1)),
            known(allocations && allocations.peak_live_bytes, bytesText),
            known(tree && tree.sah_1_1_5, value => value.toFixed(2)),
            known(tree && tree.digest, String),
        ];
    });
    return sortableTable('N_alloc and the bytes are those of a full allocator.', columns, rows);
}

/* The papers' table: a row an allocator, a column a scene. */
function paperTable(pool) {
    const relative = hasReference(pool);
    const columns = [{title: 'allocator'}, ...RESULTS.scenes.map(
        scene => ({title: sceneName(scene.path), number: true, hint: scene.path}))];
    const rows = NAMES.map(name => [
        words(starred(name)),
        ...RESULTS.scenes.map(scene => timeCell(find(scene, pool, name), relative)),
    ]);
    const elsewhere = RESULTS.cells.some(found => found.pool === pool && isElsewhere(found));
    const what = relative ? `T_build of ${REFERENCE} in ms, slowdown of the others.` :
        `T_build in ms: some scene has no time of ${REFERENCE}, so there are no slowdowns.`;
    const mark = !elsewhere ? '' :
        ` ': over ${REFERENCE} with another pool, for with this one it failed.`;
    return sortableTable(`${what} ◂: the scene's fastest full allocator.${mark}`, columns, rows);
}

/* Whether a slowdown is over the reference's time with another pool. */
function isElsewhere(found) {
    const slowdown = timeOf(found) === null ? null : found.build.slowdown;
    return slowdown !== null && found.baseline_pool !== found.pool;
}

function timeCell(found, relative) {
    const time = timeOf(found);
    if (time === null) {
        const outcome = found ? found.outcome : 'unfinished';
        return cell(outcomeText(outcome), null, 'failed', found ? found.message : null);
    }
    const look = found.fastest_full ? 'best' : '';
    if (!relative) return cell(timeText(time), time, look);
    const slowdown = found.build.slowdown;
    if (found.build.allocator === REFERENCE) return cell(`${timeText(time)} ms`, slowdown, look);
    const mark = isElsewhere(found) ? "'" : '';
    return cell(factorText(slowdown) + mark, slowdown, look, `${timeText(time)} ms`);
}

function bars(pool) {
    const relative = hasReference(pool);
    const figure = found => relative ? found.build.slowdown : timeOf(found);
    const values = scenes => scenes.flatMap(scene => NAMES.map(name => find(scene, pool, name)))
        .filter(found => timeOf(found) !== null).map(figure);
    return element('div', {class: 'panels'}, ...RESULTS.scenes.map(scene => {
        const all = values(relative ? RESULTS.scenes : [scene]);
        const low = relative ? Math.min(0.8, ...all) : Math.min(...all, 1e9) / 1.5;
        const entries = NAMES.map(name => {
            const found = find(scene, pool, name);
            const value = timeOf(found) === null ? null : figure(found);
            return {
                name: starred(name), full: FULL.get(name), best: found && found.fastest_full, value,
                text: value === null ? '' : relative ? factorText(value) : timeText(value) + ' ms',
                word: outcomeText(found ? found.outcome : 'unfinished'),
            };
        });
        const high = Math.max(2, low * 2, ...all) * 1.9;
        return barPanel(sceneName(scene.path), entries, all.length ? low : 1, high,
                        relative ? 1 : null, relative ? 'x' : '');
    }));
}

function poolPanels() {
    return element('div', {class: 'panels'}, ...RESULTS.scenes.map(scene => {
        const lines = NAMES.map((name, index) => ({
            name: starred(name),
            look: lookOf(index, name === REFERENCE),
            points: RESULTS.pools.map(pool => find(scene, pool, name))
                .filter(found => timeOf(found) !== null && found.build.pool_multiple > 0)
                .map(found => ({
                    x: found.build.pool_multiple, y: timeOf(found), pool: found.pool,
                    hint: `${name}, pool ${found.pool}: ${timeText(timeOf(found))} ms`,
                })).sort((a, b) => a.x - b.x),
        })).filter(line => line.points.length);
        if (!lines.length) return element('p', {class: 'note'}, `${scene.path}: nothing was done.`);
        // Allocators round a pool to what they can use: one tick for all that was one pool.
        const points = lines.flatMap(line => line.points);
        const ticks = RESULTS.pools.map(pool => points.filter(point => point.pool === pool))
            .filter(ofPool => ofPool.length)
            .map(ofPool => Math.max(...ofPool.map(point => point.x)))
            .map(value => ({value, text: Number(value.toPrecision(3)) + 'x'}));
        const xTitle = 'pool / root array, logarithmic';
        return linePanel(sceneName(scene.path), lines, ticks, xTitle, 'ms');
    }));
}

function registersTable() {
    const number = (title, hint) => ({title, number: true, hint});
    const columns = [
        {title: 'allocator'}, number('build', 'registers per thread of the build kernel'),
        number('spilled B', 'of the build kernel'),
        number('uncoalesced', 'of a kernel with one allocation and one deallocation, lane by lane'),
        number('coalesced', 'the same, the lanes together'),
        number('published, uncoalesced'), number('published, coalesced'),
    ];
    const rows = NAMES.map(name => {
        const cells = RESULTS.cells.filter(found => found.build.allocator === name);
        const kernels = (cells.find(found => found.registers) || {}).registers || {};
        const published = (cells[0] || {}).published_registers || {};
        return [words(starred(name)),
                ...[kernels.build, kernels.spill_bytes,
                    kernels.uncoalesced && kernels.uncoalesced.registers,
                    kernels.coalesced && kernels.coalesced.registers,
                    published.uncoalesced, published.coalesced].map(value => known(value, String))];
    });
    return sortableTable('Registers per thread.', columns, rows);
}

function memoryTable() {
    const number = title => ({title, number: true});
    const columns = [{title: 'scene'}, {title: 'pool'}, {title: 'allocator'}, number('internal'),
                     number('external'), number('peak: live'), number('peak: allocated'),
                     number('peak: internal'), number('peak: external'), number('minimal pool'),
                     number('all memory')];
    const rows = RESULTS.cells.filter(found => found.outcome === 'done').map(found => {
        const peak = found.fragmentation.peak || {};
        return [
            words(sceneName(found.scene)), words(found.pool), words(starred(found.build.allocator)),
            known(found.fragmentation.internal, percentText),
            known(found.fragmentation.external, percentText),
            known(peak.live_bytes, bytesText), known(peak.allocated_bytes, bytesText),
            known(peak.internal, percentText), known(peak.external, percentText),
            known(found.build.minimal_pool_bytes, bytesText),
            known(found.memory && found.memory.total_bytes, bytesText),
        ];
    });
    return sortableTable('Fragmentation after a build and at its peak; bytes of all that it takes.',
                         columns, rows);
}

function cellsTable() {
    const number = title => ({title, number: true});
    const columns = [{title: 'scene'}, {title: 'pool'}, {title: 'allocator'}, {title: 'outcome'},
                     number('median ms'), number('min'), number('max'), number('slowdown'),
                     {title: 'samples, ms, or what went wrong', wide: true}];
    const rows = RESULTS.cells.map(found => {
        const done = found.outcome === 'done';
        const ms = (done && found.build.ms) || {};
        return [
            words(sceneName(found.scene)), words(found.pool), words(starred(found.build.allocator)),
            cell(outcomeText(found.outcome), found.outcome, done ? '' : 'failed'),
            known(ms.median, timeText), known(ms.min, timeText), known(ms.max, timeText),
            known(done ? found.build.slowdown : null, factorText),
            words(ms.samples ? ms.samples.map(timeText).join(' ') : found.message || '–'),
        ];
    });
    return sortableTable('Every cell.', columns, rows);
}

function provenance() {
    const list = element('dl');
    const add = (key, value) => {
        const shown = Array.isArray(value) ? value.join(' ') : String(value);
        list.append(element('dt', {}, key.replaceAll('_', ' ')), element('dd', {}, shown));
    };
    for (const [key, value] of Object.entries(RESULTS.provenance)) {
        if (value === null || value === '') continue;
        if (key !== 'configuration') add(key, value);
        else Object.entries(value).forEach(entry => add(...entry));
    }
    RESULTS.scenes.forEach(scene => add(scene.path, `scene with the digest ${scene.digest}`));
    const save = element('button', {type: 'button', id: 'save'}, 'Save the results as JSON');
    save.addEventListener('click', () => {
        const blob = new Blob([JSON.stringify(RESULTS, null, 2)], {type: 'application/json'});
        const link = element('a', {href: URL.createObjectURL(blob), download: 'compare.json'});
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    });
    return [list, save];
}

function note(content, look = 'note') {
    return element('p', {class: look}, content);
}

function show() {
    const p = RESULTS.provenance;
    document.getElementById('where').textContent =
        [p.device, `heapwood ${p.version} (${p.git}), ${p.build_type}`, p.cuda && `CUDA ${p.cuda}`,
         `medians of ${p.repeat} builds`, p.date].filter(Boolean).join(' · ');
    const main = document.getElementById('main');
    if (!RESULTS.complete) {
        main.append(element('p', {class: 'warning', role: 'status'},
                            'Incomplete: not every cell was measured.'));
    }
    // The pattern of bars of what is no full allocator.
    const pattern = {id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse',
                     patternTransform: 'rotate(45)'};
    main.append(drawn('svg', {width: 0, height: 0, 'aria-hidden': 'true'},
                      drawn('pattern', pattern, drawn('line', {y2: 6, class: 'hatching'}))));
    main.append(note('A click on a heading sorts, a second one the other way.', 'note screen'));
    if (NAMES.some(name => FULL.get(name) === false)) {
        main.append(note('* no full allocator: memory returns with the whole pool, or in ring ' +
                         'order, only.'));
    }
    section('Scenes', scenesTable());
    for (const pool of RESULTS.pools) section(`Pool ${pool}`, paperTable(pool), bars(pool));
    if (RESULTS.pools.length > 1) section('Time against pool size', poolPanels());
    section('Registers', registersTable());
    section('Fragmentation and memory', memoryTable());
    section('All cells', cellsTable());
    section('Provenance', ...provenance());
}

show();
