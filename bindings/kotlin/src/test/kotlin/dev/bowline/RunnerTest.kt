// Tests: Engine, DialogueSession, ShellSession, TokenProvider
package dev.bowline

import java.util.concurrent.CopyOnWriteArrayList
import kotlinx.coroutines.async
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.toList
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertNotNull
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test

class RunnerTest {
    /** Gives a wrong token until that is refused, and the right one from then on. */
    private class Tokens(private val token: String) : TokenProvider {
        val refusals = CopyOnWriteArrayList<Boolean>()
        val daemons = CopyOnWriteArrayList<Boolean>()

        override fun token(wasRefused: Boolean): String {
            refusals += wasRefused
            daemons += Thread.currentThread().isDaemon
            return if (true in refusals) token else "0".repeat(token.length)
        }
    }

    /** Asks for everything, answers what is asked, and gives what was said. */
    private suspend fun converse(session: DialogueSession): String {
        for (prompt in listOf("hello", "/tool ls", "/lines 300", "/big 300000")) {
            assertEquals(ReceiptState.ANSWERED, session.say(prompt).use { it.settled() })
        }
        session.say("/ask make").use { receipt ->
            session.allow(session.asked().requestId)
            assertEquals(ReceiptState.ANSWERED, receipt.settled())
        }
        return session.until { it.results().size == 5 && it.phase == Phase.IDLE }.said()
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
        val kinds = all.toList().flatten().mapNotNull { (it as? HeardDialogueEvent.Event)?.event?.kind }
        return kinds.mapNotNull { (it as? DialogueEventKind.Connection)?.state }
    }

    /** A first link that breaks is told to the host, which tries again. */
    private suspend fun attached(runner: RunnerConfiguration, id: String): HeardSession {
        repeat(50) {
            try {
                return engine.attachHeard(runner, id, configuration())
            } catch (_: BowlineException.Start) {
            }
        }
        error("no link was good enough")
    }

    private suspend fun converseOver(proxy: String, runner: Runner, here: String): Int {
        // The first order is not repeated: it goes the straight way.
        val id = engine.start(configuration().copy(runner = runner.configuration)).use { session ->
            session.id().also { session.detach() }
        }
        val tokens = Tokens(runner.token)
        val heard = attached(RunnerConfiguration("http://$proxy", tokens = tokens), id)
        return coroutineScope {
            val states = async { heard.events.use { states(it) } }
            heard.session.use { session ->
                assertEquals(here, converse(session))
                assertTrue(session.terminate().isExpected)
            }
            val links = states.await().filterIsInstance<ConnectionView.Reconnected>()
            assertTrue(links.all { it.gap == 0uL }, links.toString())
            assertTrue(tokens.refusals.contains(true) && tokens.daemons.all { it })
            links.size
        }
    }

    @Test
    fun `a dialogue at a runner says the same over links that break`() = live {
        val here = session { converse(it) }
        val address = Runner().use { it.address }
        // A runner has to know by which names it is reached, and a proxy what it stands in front of.
        val faults = listOf("cut", "reset", "half-close", "stall").flatMap { listOf("--fault", it) }.toTypedArray()
        val chaos = (1..6).map { Running("chaos", "--to", address, "--seed", "$it", *faults) }
        try {
            val proxies = chaos.map { it.said("listening on ").substringBefore(',') }
            Runner(address, proxies).use { runner ->
                val reconnected = proxies.sumOf { converseOver(it, runner, here) }
                assertTrue(reconnected > 0, "no link was made again")
                println("$reconnected links were made again")
            }
        } finally {
            chaos.forEach { it.close() }
        }
    }

    @Test
    fun `a host goes and another one goes on`() = live {
        Runner().use { runner ->
            val first = engine.start(configuration("--pace", "1").copy(runner = runner.configuration))
            val said = first.use { session ->
                session.say("hello").use { it.settled() }
                val said = session.until { it.results().size == 1 && it.phase == Phase.IDLE }.said()
                assertTrue(session.detach().isExpected)
                session.id() to said
            }
            engine.attach(runner.configuration, said.first, configuration()).use { session ->
                assertEquals(said.second, session.until { it.results().size == 1 && it.phase == Phase.IDLE }.said())
                session.say("/sleep 600")
                session.until { it.toolCalls().lastOrNull()?.state == CallState.RUNNING }
                session.interrupt()
                session.until { it.results().size == 2 }
                session.say("/exit 3")
                assertEquals(3, session.ended().exit.code)
            }
            val wrong = RunnerConfiguration("http://${runner.address}", token = "0".repeat(runner.token.length))
            refused<BowlineException.Start> { engine.attach(wrong, said.first, configuration()) }
        }
    }

    private fun echo(runner: Runner? = null) = ShellConfiguration(
        cwd = temporary().toString(),
        runner = runner?.configuration,
        program = ShellProgram.Command("/bin/sh", listOf("-c", "while read line; do echo heard ${'$'}line; done")),
    )

    private suspend fun ShellSession.line(wanted: String) =
        happenings().first { (it as? SessionEvent.Output)?.line == wanted }

    @Test
    fun `a shell at a runner outlives its host`() = live {
        Runner().use { runner ->
            val id = engine.startShell(echo(runner)).use { shell ->
                shell.typeText("one\n")
                shell.line("heard one")
                assertEquals(ConnectionView.Connected, shell.connection())
                refused<BowlineException.Invalid> { shell.retry() }
                shell.terminal().also { shell.detach() }
            }
            engine.attachShell(runner.configuration, id, echo()).use { shell ->
                shell.line("heard one")
                shell.typeText("two\n")
                shell.line("heard two")
                assertTrue(shell.terminate().survivors.isEmpty())
            }
            engine.startShell(echo()).use { shell ->
                refused<BowlineException.Invalid> { shell.detach() }
                shell.kill()
            }
            val list = ManagerConfiguration(temporary().resolve("list").toString())
            engine.openManager(list).use { manager ->
                val made = manager.createShell(echo(runner), "far")
                manager.shell(made.id).use { shell ->
                    shell.typeText("three\n")
                    shell.line("heard three")
                }
                assertNotNull(manager.kill(made.id).report)
                manager.shutdown()
            }
        }
    }

    @Test
    fun `a manager has dialogues at a runner`() = live {
        val folder = temporary()
        Runner().use { runner ->
            engine.openManager(ManagerConfiguration(folder.resolve("list").toString())).use { manager ->
                val made = manager.createDialogue(configuration(folder = folder).copy(runner = runner.configuration), "far")
                manager.dialogue(made.id).use { session ->
                    session.say("hello").use { it.settled() }
                    session.until { it.results().isNotEmpty() }
                }
                assertNotNull(manager.kill(made.id).report)
                manager.shutdown()
            }
        }
    }
}
