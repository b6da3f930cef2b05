// Tests: Engine, DialogueSession, ShellSession, ConnectionStream, TokenProvider
package dev.bowline

import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.async
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.toList
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RunnerTest {
    /** Returns a wrong token until it is refused, and the right one from then on. */
    private class Tokens(private val token: String) : TokenProvider {
        val refusals = CopyOnWriteArrayList<Boolean>()
        val daemons = CopyOnWriteArrayList<Boolean>()

        override fun token(wasRefused: Boolean): String {
            refusals += wasRefused
            daemons += Thread.currentThread().isDaemon
            return if (true in refusals) token else "0".repeat(token.length)
        }
    }

    /** Runs a conversation with all kinds of output and returns its text. */
    private suspend fun converse(session: DialogueSession): String {
        for (prompt in listOf("hello", "/tool ls", "/lines 300", "/big 300000")) {
            assertEquals(ReceiptState.ANSWERED, session.send(prompt).use { it.waitUntilSettled() })
        }
        session.send("/ask make").use { receipt ->
            session.allow(session.awaitPermissionRequest().requestId)
            assertEquals(ReceiptState.ANSWERED, receipt.waitUntilSettled())
        }
        return session.until { it.results().size == 5 && it.phase == Phase.IDLE }.text()
    }

    private suspend fun states(events: DialogueEventStream): List<ConnectionView> {
        val all = flow {
            var cursor: ULong = 0u
            while (true) {
                val batch = events.next(cursor, 10_000u, 0u) ?: break
                cursor = batch.cursor
                emit(batch.events)
            }
        }
        val kinds = all.toList().flatten().mapNotNull { (it as? DialogueEventItem.Event)?.event?.kind }
        return kinds.mapNotNull { (it as? DialogueEventKind.Connection)?.state }
    }

    /** Attaches, retrying if the first connection fails. */
    private suspend fun attach(runner: RunnerConfiguration, id: String): SessionWithEvents {
        repeat(50) {
            try {
                return engine.attachWithEvents(runner, id, configuration())
            } catch (_: BowlineException.Start) {
            }
        }
        error("no attempt succeeded")
    }

    private suspend fun converseOver(proxy: String, runner: Runner, expected: String): Int {
        // Starting a session is not retried, so it bypasses the proxy.
        val id = engine.start(configuration().copy(runner = runner.configuration)).use { session ->
            session.id().also { session.detach() }
        }
        val tokens = Tokens(runner.token)
        val started = attach(RunnerConfiguration("http://$proxy", tokenProvider = tokens), id)
        return coroutineScope {
            val states = async { started.events.use { states(it) } }
            started.session.use { session ->
                assertEquals(expected, converse(session))
                assertTrue(session.terminate().isExpected)
            }
            val reconnects = states.await().filterIsInstance<ConnectionView.Reconnected>()
            assertTrue(reconnects.all { it.gap == 0uL }, reconnects.toString())
            assertTrue(tokens.refusals.contains(true) && tokens.daemons.all { it })
            reconnects.size
        }
    }

    @Test
    fun `remote dialogue survives connection faults`() = runTest {
        val expected = session { converse(it) }
        val address = Runner().use { it.address }
        // The runner needs the proxies' host names, and the proxies need the runner's address.
        val faults = listOf("cut", "reset", "half-close", "stall").flatMap { listOf("--fault", it) }.toTypedArray()
        val chaos = (1..6).map { RunningProgram("chaos", "--to", address, "--seed", "$it", *faults) }
        try {
            val proxies = chaos.map { it.lineAfter("listening on ").substringBefore(',') }
            Runner(address, proxies).use { runner ->
                val reconnected = proxies.sumOf { converseOver(it, runner, expected) }
                assertTrue(reconnected > 0, "no reconnect")
                println("$reconnected reconnects")
            }
        } finally {
            chaos.forEach { it.close() }
        }
    }

    @Test
    fun `second host continues a detached session`() = runTest {
        Runner().use { runner ->
            val first = engine.start(configuration("--pace", "1").copy(runner = runner.configuration))
            val (id, text) = first.use { session ->
                session.send("hello").use { it.waitUntilSettled() }
                val text = session.until { it.results().size == 1 && it.phase == Phase.IDLE }.text()
                assertTrue(session.detach().isExpected)
                session.id() to text
            }
            engine.attach(runner.configuration, id, configuration()).use { session ->
                assertEquals(text, session.until { it.results().size == 1 && it.phase == Phase.IDLE }.text())
                session.send("/sleep 600")
                session.until { it.toolCalls().lastOrNull()?.state == CallState.RUNNING }
                session.interrupt()
                session.until { it.results().size == 2 }
                session.send("/exit 3")
                assertEquals(3, session.waitForEnd().exit.code)
            }
            val wrong = RunnerConfiguration("http://${runner.address}", token = "0".repeat(runner.token.length))
            assertThrowsBowline<BowlineException.Start> { engine.attach(wrong, id, configuration()) }
        }
    }

    @Test
    fun `call without a connection throws Disconnected`() = runTest {
        val runner = Runner()
        val impatient = runner.configuration.copy(reconnectTimeoutMs = 1u)
        engine.start(configuration().copy(runner = impatient)).use { session ->
            // Events are not repeated, so the subscription comes first.
            val lost = async(start = CoroutineStart.UNDISPATCHED) {
                session.events().first { item ->
                    ((item as? DialogueEventItem.Event)?.event?.kind as? DialogueEventKind.Connection)?.state is ConnectionView.Failed
                }
            }
            runner.close()
            lost.await()
            val error = assertThrowsBowline<BowlineException.Disconnected> { session.send("hello") }
            assertTrue("not connected" in error.reason, error.reason)
        }
    }

    @Test
    fun `retry continues a session when its runner is back`() = runTest {
        val runner = Runner()
        val impatient = runner.configuration.copy(reconnectTimeoutMs = 1u)
        engine.start(configuration().copy(runner = impatient)).use { session ->
            session.send("hello").use { it.waitUntilSettled() }
            val states = Channel<ConnectionView>(Channel.UNLIMITED)
            val reading = launch { session.connectionStates().collect { states.send(it) } }
            assertEquals(ConnectionView.Connected, states.receive())
            runner.close()
            val failed = states.first { it is ConnectionView.Failed } as ConnectionView.Failed
            assertTrue(failed.canRetry, failed.reason)
            val lost = session.until { it.reason.startsWith("disconnected: ") }
            assertEquals(Phase.IDLE, lost.phase)
            Runner(runner.address, folder = runner.folder).use {
                session.retry()
                val restored = states.first { it is ConnectionView.Reconnected }
                assertEquals(0uL, (restored as ConnectionView.Reconnected).gap)
                session.until { !it.reason.startsWith("disconnected: ") }
                assertEquals(ReceiptState.ANSWERED, session.send("again").use { it.waitUntilSettled() })
                assertTrue(session.terminate().isExpected)
                // The stream ends with the session, and a later one has only its end.
                reading.join()
                states.close()
                assertEquals(emptyList<ConnectionView>(), states.toList().filterNot { it is ConnectionView.Reconnected })
                session.connectionStates().toList()
            }
        }
    }

    @Test
    fun `local sessions are connected until they end`() = runTest {
        val states = session { session ->
            val states = async(start = CoroutineStart.UNDISPATCHED) { session.connectionStates().toList() }
            session.send("hello").use { it.waitUntilSettled() }
            states
        }
        assertEquals(listOf<ConnectionView>(ConnectionView.Connected), states.await())
        engine.startShell(echo()).use { shell ->
            // A stream that is not read to its end is released by its reader.
            assertEquals(ConnectionView.Connected, shell.connectionStates().first())
            shell.connectionStream().use { stream ->
                val first = stream.next(0u, 10u, 0u)!!
                assertEquals(listOf<ConnectionView>(ConnectionView.Connected), first.events)
                stream.stop()
                assertNull(stream.next(first.cursor, 10u, 0u))
            }
            shell.kill()
        }
    }

    private suspend fun Channel<ConnectionView>.first(wanted: (ConnectionView) -> Boolean): ConnectionView {
        for (state in this) if (wanted(state)) return state
        error("the stream has ended")
    }

    private fun echo(runner: Runner? = null) = ShellConfiguration(
        cwd = temporaryDirectory().toString(),
        runner = runner?.configuration,
        program = ShellProgram.Command("/bin/sh", listOf("-c", "while read line; do echo got ${'$'}line; done")),
    )

    private suspend fun ShellSession.line(wanted: String) =
        events().first { (it as? SessionEvent.Output)?.line == wanted }

    @Test
    fun `shell at a runner outlives its host`() = runTest {
        Runner().use { runner ->
            val id = engine.startShell(echo(runner)).use { shell ->
                shell.typeText("one\n")
                shell.line("got one")
                assertEquals(ConnectionView.Connected, shell.connection())
                assertThrowsBowline<BowlineException.Invalid> { shell.retry() }
                shell.terminal().also { shell.detach() }
            }
            engine.attachShell(runner.configuration, id, echo()).use { shell ->
                shell.line("got one")
                shell.typeText("two\n")
                shell.line("got two")
                assertTrue(shell.terminate().survivors.isEmpty())
            }
            engine.startShell(echo()).use { shell ->
                assertThrowsBowline<BowlineException.Invalid> { shell.detach() }
                shell.kill()
            }
            val list = ManagerConfiguration(temporaryDirectory().resolve("list").toString())
            engine.openManager(list).use { manager ->
                val made = manager.createShell(echo(runner), "remote")
                manager.shell(made.id).use { shell ->
                    shell.typeText("three\n")
                    shell.line("got three")
                }
                assertNotNull(manager.kill(made.id).report)
                manager.endAll()
            }
        }
    }

    @Test
    fun `manager runs dialogues at a runner`() = runTest {
        val folder = temporaryDirectory()
        Runner().use { runner ->
            engine.openManager(ManagerConfiguration(folder.resolve("list").toString())).use { manager ->
                val made = manager.createDialogue(configuration(folder = folder).copy(runner = runner.configuration), "remote")
                manager.dialogue(made.id).use { session ->
                    session.send("hello").use { it.waitUntilSettled() }
                    session.until { it.results().isNotEmpty() }
                }
                assertNotNull(manager.kill(made.id).report)
                manager.endAll()
            }
        }
    }
}
