package dev.bowline

import java.lang.reflect.Modifier
import java.nio.file.Files
import java.nio.file.Path
import java.nio.file.attribute.FileTime
import java.util.concurrent.TimeUnit
import java.util.concurrent.atomic.AtomicInteger
import kotlin.coroutines.Continuation
import kotlin.coroutines.CoroutineContext
import kotlin.coroutines.startCoroutine
import kotlin.io.path.listDirectoryEntries
import kotlin.random.Random
import kotlin.time.Duration
import kotlin.time.Duration.Companion.microseconds
import kotlinx.coroutines.CancellationException
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withTimeoutOrNull
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Assertions.fail
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.Timeout

/**
 * The context of a call, on [Dispatchers.Default]. It cancels the call right before its job is looked up for
 * the time with the number [at]. A coroutine looks its job up whenever cancellation can take effect, so that
 * each number is another moment of the call.
 */
private class CancellingContext(private val at: Int) : CoroutineContext {
    val job = Job()
    private val elements = Dispatchers.Default + job
    private val lookups = AtomicInteger()

    override fun <E : CoroutineContext.Element> get(key: CoroutineContext.Key<E>): E? {
        if (key === Job && lookups.incrementAndGet() == at) job.cancel()
        return elements[key]
    }

    override fun <R> fold(initial: R, operation: (R, CoroutineContext.Element) -> R): R = elements.fold(initial, operation)

    override fun minusKey(key: CoroutineContext.Key<*>): CoroutineContext = elements.minusKey(key)
}

/** When a call is cancelled: at a lookup of its job, and after a time at the latest. */
private class Moment(val lookup: Int, val after: Duration)

/** Runs [call], cancels it at [moment], and releases what it returned. Returns whether it was cancelled. */
private suspend fun cancelAt(moment: Moment, call: suspend () -> Any?): Boolean = coroutineScope {
    val cancelling = CancellingContext(moment.lookup)
    val result = CompletableDeferred<Result<Any?>>()
    call.startCoroutine(Continuation(cancelling) { result.complete(it) })
    val timer = launch(Dispatchers.Default) {
        delay(moment.after)
        cancelling.job.cancel()
    }
    val returned = result.await()
    timer.cancel()
    returned.onSuccess { Disposable.destroy(it) }
    val error = returned.exceptionOrNull()
    assertTrue(error == null || error is CancellationException || error is BowlineException, "$error")
    error is CancellationException
}

/** Objects and sessions of one call, released in reverse order. */
private class Resources {
    private val releases = ArrayDeque<suspend () -> Unit>()

    fun <T : AutoCloseable> closing(value: T): T = value.also { releases.addFirst { it.close() } }

    fun finally(release: suspend () -> Unit) = releases.addFirst(release)

    suspend fun release() = releases.forEach { it() }
}

/** A `suspend` function of the library and how to call it. */
private class Operation(val name: String, val prepare: suspend Resources.() -> suspend () -> Any?)

/** What all calls share: a runner, a session, a shell, a manager and servers. */
private class SharedObjects : AutoCloseable {
    val folder: Path = temporaryDirectory()
    val runner = Runner()
    val client: RunnerClient = engine.runner(runner.configuration)
    val recording: Recording = runBlocking { engine.openRecording(fixtures.resolve("partial.jsonl").toString()) }
    val session: DialogueSession = runBlocking {
        engine.start(configuration(folder = folder).copy(record = folder.resolve("record.jsonl").toString()))
    }
    val cat = ShellConfiguration(folder.toString(), program = ShellProgram.Command("/bin/cat", emptyList()), idleAfterMs = 20u)
    val shell: ShellSession = runBlocking { engine.startShell(cat) }
    val manager: SessionManager = runBlocking { engine.openManager(ManagerConfiguration(folder.resolve("list").toString())) }
    val hooks: HookServer = runBlocking { engine.startHooks(HookConfiguration()) }
    val atRunner = configuration().copy(runner = runner.configuration)

    /** Returns the id of a session that runs at the runner, without a host. */
    suspend fun detached(resources: Resources): String {
        val id = engine.start(atRunner).use { session -> session.id().also { session.detach() } }
        resources.finally { runCatching { client.end(id, isForced = true) } }
        return id
    }

    /** Waits until no program runs at the runner, and removes those that have ended from its list. */
    suspend fun nothingRuns() = eventually("a program runs at the runner") {
        runBlocking {
            val (running, ended) = client.sessions().partition { it.state == RunnerSessionState.RUNNING }
            // Fails while the session's process is ending.
            ended.forEach { runCatching { client.end(it.id, keepsLog = false) } }
            running.isEmpty() && ended.isEmpty()
        }
    }

    private val agent: Path = Files.writeString(folder.resolve("agent"), "#!/bin/sh\nexec '$understudy' \"$@\"\n")

    /** Returns an agent whose version is not remembered. */
    private fun unknownAgent(): String {
        agent.toFile().setExecutable(true)
        Files.setLastModifiedTime(agent, FileTime.fromMillis(modifications.incrementAndGet().toLong()))
        return agent.toString()
    }

    private val modifications = AtomicInteger()

    val executorConfiguration = ExecutorConfiguration("cancel", hookGraceMs = 10u)

    val operations: List<Operation> = buildList {
        fun operation(name: String, prepare: suspend Resources.() -> suspend () -> Any?) = add(Operation(name, prepare))

        operation("ChangeStream.next") { closing(session.changeStream()).let { { it.next(0u, 10_000u, 1u) } } }
        operation("DialogueEventStream.next") {
            val events = closing(session.eventStream())
            session.setModel("m");
            { events.next(0u, 10u, 1u) }
        }
        operation("DialogueSession.capabilities") { { session.capabilities() } }
        operation("DialogueSession.detach") {
            val id = detached(this)
            val attached = closing(engine.attach(runner.configuration, id, configuration()));
            { attached.detach() }
        }
        operation("DialogueSession.end") { closing(engine.start(configuration())).let { { it.end() } } }
        operation("DialogueSession.entriesBefore") { { session.entriesBefore(null) } }
        operation("DialogueSession.interrupt") { { session.interrupt() } }
        operation("DialogueSession.lastActivity") { { session.lastActivity() } }
        operation("DialogueSession.pause") { finally { session.unpause() }; { session.pause() } }
        operation("DialogueSession.phase") { { session.phase() } }
        operation("DialogueSession.request") { { session.request("mcp_status", null) } }
        operation("DialogueSession.queue") { { session.queue() } }
        operation("DialogueSession.editQueue") { { session.editQueue("none", QueueChange.Cancel) } }
        operation("DialogueSession.record") {
            val file = folder.resolve("record-${System.nanoTime()}.jsonl").toString();
            { session.record(file) }
        }
        operation("DialogueSession.diagnostics") {
            val file = folder.resolve("bundle-${System.nanoTime()}.tar.gz").toString();
            { session.diagnostics(file, Redaction.SECRETS) }
        }
        operation("DialogueSession.respond") { { session.respond("none", PermissionAnswer.Deny("no", false)) } }
        operation("DialogueSession.send") { { session.send(Prompt(listOf(PromptPart.Text("hello")))) } }
        operation("DialogueSession.setModel") { { session.setModel("m") } }
        operation("DialogueSession.setOption") { { session.setOption("model", "m") } }
        operation("DialogueSession.setPermissionMode") { { session.setPermissionMode("default") } }
        operation("DialogueSession.snapshot") { { session.snapshot() } }
        operation("DialogueSession.supported") { { session.supported() } }
        operation("DialogueSession.terminate") { closing(engine.start(configuration())).let { { it.terminate() } } }
        operation("DialogueSession.unpause") { { session.unpause() } }
        operation("DialogueSession.waitForEnd") {
            val ending = closing(engine.start(configuration()))
            val end = CoroutineScope(Dispatchers.Default).launch { ending.terminate() }
            finally { end.join() };
            { ending.waitForEnd() }
        }
        operation("Engine.attach") { detached(this).let { { engine.attach(runner.configuration, it, configuration()) } } }
        operation("Engine.attachShell") {
            val id = engine.startShell(cat.copy(runner = runner.configuration)).use { shell -> shell.terminal().also { shell.detach() } }
            finally { runCatching { client.end(id, isForced = true) } };
            { engine.attachShell(runner.configuration, id, cat) }
        }
        operation("Engine.attachWithEvents") { detached(this).let { { engine.attachWithEvents(runner.configuration, it, configuration()) } } }
        operation("Engine.findAgent") { unknownAgent().let { { engine.findAgent(it) } } }
        operation("Engine.loginEnvironment") { { engine.loginEnvironment(LoginShellQuery("/bin/sh", ignoresCache = true)) } }
        operation("Engine.openManager") {
            val list = ManagerConfiguration(temporaryDirectory().toString())
            // A manager that was dropped instead of returned would keep its directory.
            finally { eventually("the directory is free") { runBlocking { runCatching { engine.openManager(list).close() }.isSuccess } } };
            { engine.openManager(list) }
        }
        operation("Engine.openRecording") { { engine.openRecording(fixtures.resolve("plain.jsonl").toString()) } }
        operation("Engine.respond") { { engine.respond(session.id(), "none", PermissionAnswer.Deny("no", false)) } }
        operation("Engine.start") { { engine.start(configuration()) } }
        operation("Engine.start at a runner") { finally { nothingRuns() }; { engine.start(atRunner) } }
        operation("Engine.startExecutor") { { engine.startExecutor(executorConfiguration) } }
        operation("Engine.startHooks") { { engine.startHooks(HookConfiguration()) } }
        operation("Engine.startShell") { { engine.startShell(cat) } }
        operation("Engine.startShell at a runner") { finally { nothingRuns() }; { engine.startShell(cat.copy(runner = runner.configuration)) } }
        operation("Engine.startWithEvents") { { engine.startWithEvents(configuration()) } }
        operation("Engine.startWithEvents at a runner") { finally { nothingRuns() }; { engine.startWithEvents(atRunner) } }
        operation("HookQuestionStream.next") {
            val server = closing(engine.startHooks(HookConfiguration()))
            closing(server.questionStream()).let { { it.next(0u, 1u, 0u) } }
        }
        operation("HookServer.serve") {
            val server = closing(engine.startHooks(HookConfiguration()))
            val there = configuration().copy(runner = runner.configuration, hooks = server.spec("i"))
            val id = engine.start(there).use { it.id().also { _ -> it.detach() } }
            finally { runCatching { client.end(id, isForced = true) } };
            { server.serve(runner.configuration, id) }
        }
        operation("HookServer.stop") { closing(engine.startHooks(HookConfiguration())).let { { it.stop() } } }
        operation("HookServer.waitForWithdrawal") { { hooks.waitForWithdrawal(1u) } }
        operation("HookStream.next") { closing(hooks.eventStream()).let { { it.next(0u, 1u, 0u) } } }
        operation("Receipt.waitFor") { closing(session.send("hello")).let { { it.waitFor(ReceiptState.ANSWERED) } } }
        operation("Recording.snapshot") { { recording.snapshot() } }
        operation("RunnerClient.end") { detached(this).let { { client.end(it, isForced = true) } } }
        operation("RunnerClient.log") { detached(this).let { { client.log(it) } } }
        operation("RunnerClient.restore") {
            val id = detached(this)
            client.end(id, isForced = true, keepsLog = false);
            { client.restore(id) }
        }
        operation("RunnerClient.session") { detached(this).let { { client.session(it) } } }
        operation("RunnerClient.sessions") { { client.sessions() } }
        operation("RunnerClient.update") { detached(this).let { { client.update(it, RunnerSessionChange(name = "x")) } } }
        operation("RunnerClient.transcript") { detached(this).let { { client.transcript(it) } } }
        operation("SessionEventStream.next") { closing(shell.eventStream(fromStart = true)).let { { it.next(0u, 10u, 1u) } } }
        operation("SessionManager.cleanup") { manager.createShell(cat, "x"); finally { manager.cleanup() }; { manager.cleanup() } }
        operation("SessionManager.createDialogue") { finally { manager.cleanup() }; { manager.createDialogue(configuration(), "x") } }
        operation("SessionManager.createShell") { finally { manager.cleanup() }; { manager.createShell(cat, "x") } }
        operation("SessionManager.detachAll") {
            val other = closing(engine.openManager(ManagerConfiguration(temporaryDirectory().toString())))
            other.createShell(cat, "x");
            { other.detachAll() }
        }
        operation("SessionManager.endAll") {
            val other = closing(engine.openManager(ManagerConfiguration(temporaryDirectory().toString())))
            other.createShell(cat, "x");
            { other.endAll() }
        }
        operation("SessionManager.flush") { { manager.flush() } }
        operation("SessionManager.kill") { finally { manager.cleanup() }; manager.createShell(cat, "x").let { { manager.kill(it.id) } } }
        operation("SessionManager.metadata") {
            val id = manager.createShell(cat, "x").id
            finally { manager.kill(id) };
            { manager.metadata(id) }
        }
        operation("SessionManager.reattach") {
            val list = ManagerConfiguration(temporaryDirectory().toString())
            engine.openManager(list).use { other ->
                other.createDialogue(atRunner, "x")
                other.detachAll()
            }
            val other = closing(engine.openManager(list))
            finally { other.reattach(listOf(runner.configuration)); other.endAll() };
            { other.reattach(listOf(runner.configuration)) }
        }
        operation("SessionManager.resume") {
            val id = manager.createDialogue(configuration(), "x").id
            finally { manager.cleanup() };
            { manager.resume(id, configuration()) }
        }
        operation("SessionManager.sendPrompt") {
            val id = manager.createDialogue(configuration(), "x").id
            finally { manager.kill(id) };
            { manager.sendPrompt(id, "hello") }
        }
        operation("SessionManager.setMetadata") {
            val id = manager.createShell(cat, "x").id
            finally { manager.kill(id) };
            { manager.setMetadata(id, "m") }
        }
        operation("ShellSession.detach") {
            val id = engine.startShell(cat.copy(runner = runner.configuration)).use { shell -> shell.terminal().also { shell.detach() } }
            finally { runCatching { client.end(id, isForced = true) } }
            closing(engine.attachShell(runner.configuration, id, cat)).let { { it.detach() } }
        }
        operation("ShellSession.kill") { closing(engine.startShell(cat)).let { { it.kill() } } }
        operation("ShellSession.submit") { { shell.submit("hello", SubmitOptions(readyWithinMs = 1u, settleMs = 1u)) } }
        operation("ShellSession.terminate") { closing(engine.startShell(cat)).let { { it.terminate() } } }
        operation("ShellSession.typeBytes") { { shell.typeBytes("a\n".toByteArray()) } }
        operation("ShellSession.typeText") { { shell.typeText("a\n") } }
        operation("ShellSession.waitForExit") {
            val ending = closing(engine.startShell(cat))
            val end = CoroutineScope(Dispatchers.Default).launch { ending.kill() }
            finally { end.join() };
            { ending.waitForExit() }
        }
        operation("TerminalExecutor.cleanup") { closing(engine.startExecutor(executorConfiguration)).let { { it.cleanup() } } }
        operation("TerminalExecutor.execute") {
            val executor = closing(engine.startExecutor(executorConfiguration))
            finally { executor.cleanup() }
            val options = AgentOptions(trailingArgs = listOf("--pace", "0", "--input-format", "text"))
            val command = ExecutorCommand("i", "hello", isPrint = true, cwd = folder.toString(), options = options);
            { executor.execute(command) }
        }
        operation("TerminalExecutor.typeBytes") {
            val executor = closing(engine.startExecutor(executorConfiguration));
            { executor.typeBytes("x".toByteArray()) }
        }
        operation("TerminalExecutor.typeText") {
            val executor = closing(engine.startExecutor(executorConfiguration));
            { executor.typeText("x") }
        }
        operation("TerminalExecutor.waitForWithdrawal") {
            val executor = closing(engine.startExecutor(executorConfiguration));
            { executor.waitForWithdrawal(1u) }
        }
        operation("forcePanic") { { forcePanic(PanicLocation.RUNTIME_TASK) } }
    }

    override fun close() {
        listOf(session, shell, manager, hooks, recording, client).forEach { it.close() }
        runner.close()
    }
}

class CancelTest {
    /** The random moments for each function. Campaigns use `-Dbowline.moments=1000`. */
    private val moments = Integer.getInteger("bowline.moments", 1)

    /** Campaigns may run in several processes: `-Dbowline.parts=6 -Dbowline.part=0` is the first of six. */
    private val part = Integer.getInteger("bowline.part", 0) to Integer.getInteger("bowline.parts", 1)

    /** The lookups of a call's job at which it is cancelled in turn. */
    private val lookups = 1..7

    private val random = Random(Integer.getInteger("bowline.seed", 1))

    private fun entries(directory: String) = Path.of(directory).listDirectoryEntries().size

    /** The live objects, child processes and waiting continuations of this process. */
    private fun live(): List<Long> = with(Bowline.counters()) {
        listOf(
            sessions, streams, receipts, snapshots, recordings, shells, managers, hookServers, executors, pendingCalls,
            pendingReads, terminals,
        ).map { it.toLong() } + ProcessHandle.current().children().count() + uniffiContinuationHandleMap.size.toLong()
    }

    /** Whether nothing is live that was not before. What earlier tests left may be released meanwhile. */
    private fun isReleased(before: List<Long>) = live().zip(before).all { (now, then) -> now <= then }

    private fun descriptors() = entries("/proc/self/fd")

    /** The names of the generated `suspend` functions. */
    private fun suspendFunctions(): Set<String> = operationTypes.flatMap { type ->
        val methods = type.methods.filter { Modifier.isPublic(it.modifiers) && it.parameterTypes.lastOrNull() == Continuation::class.java }
        methods.map { "${type.simpleName}.${it.name.substringBefore('-')}" }
    }.toSet() + "forcePanic"

    private val operationTypes = listOf(
        ChangeStream::class.java, DialogueEventStream::class.java, DialogueSession::class.java, Engine::class.java,
        HookQuestionStream::class.java, HookServer::class.java, HookStream::class.java, Receipt::class.java,
        Recording::class.java, RunnerClient::class.java, SessionEventStream::class.java, SessionManager::class.java,
        ShellSession::class.java, TerminalExecutor::class.java, TranscriptSnapshot::class.java, Cancellation::class.java,
    )

    @Test
    @Timeout(value = 12, unit = TimeUnit.HOURS)
    fun `cancelled call releases what it would have returned`() = runBlocking {
        SharedObjects().use { shared ->
            assertEquals(suspendFunctions(), shared.operations.map { it.name.substringBefore(' ') }.toSet())
            val (before, heap) = live() to heapByClass()
            fun growth() = heapByClass().mapValues { (name, bytes) -> bytes - (heap[name] ?: 0) }
            val operations = shared.operations.filterIndexed { index, _ -> index % part.second == part.first }
            val leaks = operations.mapNotNull { operation ->
                run(operation, Moment(0, 50_000.microseconds))
                eventually("${operation.name} leaves ${live()}, not $before") { isReleased(before) }
                val descriptors = descriptors()
                val all = lookups.map { Moment(it, 20_000.microseconds) } +
                    List(moments) { Moment(0, random.nextInt(1 shl random.nextInt(6, 16)).microseconds) }
                val cancelled = all.count { run(operation, it) }
                assertTrue(cancelled > 0, "${operation.name} was not cancelled")
                runCatching { eventually(operation.name) { isReleased(before) && descriptors() <= descriptors } }.exceptionOrNull()
                    ?.let { "${operation.name}: ${live()}, not $before; ${descriptors()} descriptors, not $descriptors" }
            }
            assertEquals(emptyList<String>(), leaks)
            val grown = sunk(HEAP_GROWTH) { (growth() - PEAK).values.sum() }
            assertTrue(grown < HEAP_GROWTH, "the heap grew by $grown: ${growth().entries.sortedByDescending { it.value }.take(20)}")
            val total = growth().values.sum() / 1024
            println("cancelled ${operations.size} functions at ${lookups.count() + moments} moments; heap change $total KiB, of which ${growth()[PEAK]!! / 1024} are in tables of maps")
        }
    }

    private suspend fun run(operation: Operation, moment: Moment): Boolean {
        val resources = Resources()
        try {
            return cancelAt(moment, operation.prepare(resources))
        } finally {
            eventually("${operation.name} is pending") { Bowline.counters().pendingCalls == 0uL }
            withTimeoutOrNull(PATIENCE) { resources.release() }
                ?: fail<Unit>("what ${operation.name} began does not end: ${Bowline.counters()}")
        }
    }

    @Test
    fun `cancelled batches release their memory`() = runTest {
        session { session ->
            session.send("x".repeat(1_000_000)).use { it.waitUntilSettled() }
            session.changeStream().use { stream ->
                suspend fun cancel() = lookups.forEach { cancelAt(Moment(it, NEVER)) { stream.next(0u, 10_000u, 0u) } }
                repeat(2) { cancel() }
                assertKept(listOf(Level("RSS KiB", 24 * 1024) { status("VmRSS") })) { repeat(40) { cancel() } }
            }
        }
    }

    private companion object {
        /**
         * The tables of concurrent maps, which do not shrink. JNA has one with an entry for each native memory that the
         * collector has not found yet: its size is that of the most garbage there was between two collections.
         */
        const val PEAK = "[Ljava.util.concurrent.ConcurrentHashMap\$Node;"

        /** How much higher the heap may be after all calls: less than their results take. */
        const val HEAP_GROWTH = 8L * 1024 * 1024

        /** Longer than any call takes. */
        val NEVER = 20_000_000.microseconds
    }
}
