/*
 * rules.h
 *		The rules of the proof and of a turn, each with a switch for the tests.
 *
 * A cache whose tests pass with a rule cut out has no test for that rule.  So
 * test/stress/teeth.sh builds the extension once for each rule with
 * -DPLC_WITHOUT_<rule> and wants to see the consistency checker fail.  In the
 * product every rule is 1 and the compiler leaves no trace of the switch.
 * docs/consistency.md and src/README.md explain the rules.
 */
#ifndef PLC_RULES_H
#define PLC_RULES_H

/* The proof as a whole: the version is visible to the reader's snapshot. */
#ifdef PLC_WITHOUT_PROOF
#define PLC_RULE_PROOF	0
#else
#define PLC_RULE_PROOF	1
#endif

/* P2: an entry is of this very file: database, tablespace, relfilenumber. */
#ifdef PLC_WITHOUT_P2
#define PLC_RULE_P2		0
#else
#define PLC_RULE_P2		1
#endif

/* P3: the line pointer still holds the tuple with this raw xmin. */
#ifdef PLC_WITHOUT_P3
#define PLC_RULE_P3		0
#else
#define PLC_RULE_P3		1
#endif

/* P6: a transaction that has written publishes nothing. */
#ifdef PLC_WITHOUT_P6
#define PLC_RULE_P6		0
#else
#define PLC_RULE_P6		1
#endif

/* P7: the snapshot is the statement's; SERIALIZABLE takes the index path. */
#ifdef PLC_WITHOUT_P7
#define PLC_RULE_P7		0
#else
#define PLC_RULE_P7		1
#endif

/* P8: the text is the one that the reader's catalogs and settings give. */
#ifdef PLC_WITHOUT_P8
#define PLC_RULE_P8		0
#else
#define PLC_RULE_P8		1
#endif

/* T1: no request is answered under a snapshot that was taken before it was received. */
#ifdef PLC_WITHOUT_T1
#define PLC_RULE_T1		0
#else
#define PLC_RULE_T1		1
#endif

/* T2: a table that was locked is read under a snapshot that was taken since. */
#ifdef PLC_WITHOUT_T2
#define PLC_RULE_T2		0
#else
#define PLC_RULE_T2		1
#endif

/* T3: what was written is seen by what follows in the same transaction. */
#ifdef PLC_WITHOUT_T3
#define PLC_RULE_T3		0
#else
#define PLC_RULE_T3		1
#endif

/* T4: all commands of an EXEC read under one snapshot. */
#ifdef PLC_WITHOUT_T4
#define PLC_RULE_T4		0
#else
#define PLC_RULE_T4		1
#endif

#endif							/* PLC_RULES_H */
